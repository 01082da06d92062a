/** @module-tag slow */
import { beforeAll, describe, expect, it } from 'vitest'
import { type Collection, formA, metadataOf, type Nft, startService, walletsOn, without } from './service.ts'

const service = startService()
const VALIDATION = formA('Request Validation Error')

describe.each(['polygon', 'solana'])('NFT lookup on %s', (blockchain) => {
  const { first, second } = walletsOn(blockchain)
  let where: Collection
  let nft: Nft
  let other: Nft

  beforeAll(async () => {
    where = await service.collection(blockchain)
    nft = await service.deployedNft(where, metadataOf('One', { artist: 'Ann' }))
    other = await service.deployedNft(where, metadataOf('Two'))
  })

  describe('POST /api/v1/getnftgdnids', () => {
    const bodyOf = ({ contract_address }: Collection) => ({ contract_addresses: contract_address, blockchain })

    it.each(['', '/'])('returns requests and nft_gdn_ids, with the path ending in "%s"', async (end) => {
      const { status, json } = await service.post(`getnftgdnids${end}`, bodyOf(where))
      expect(status).toBe(200)
      expect(json).toEqual({
        requests: { contract_address: where.contract_address, blockchain },
        nft_gdn_ids: expect.arrayContaining([nft.nft_gdn_id, other.nft_gdn_id]),
      })
      expect(json.nft_gdn_ids).toHaveLength(2)
    })

    it('lists NFTs of that collection only', async () => {
      const empty = await service.collection(blockchain)
      expect((await service.ask('getnftgdnids', bodyOf(empty))).nft_gdn_ids).toEqual([])
    })

    it.each(['contract_addresses', 'blockchain'])('requires a string as %s, else returns 400', async (name) => {
      const body = bodyOf(where)
      for (const faulty of [without(body, name), { ...body, [name]: 1 }, { ...body, [name]: null }]) {
        const { status, json } = await service.post('getnftgdnids', faulty)
        expect({ status, json }).toEqual({ status: 400, json: VALIDATION })
      }
    })
  })

  describe('POST /api/v1/getnfts', () => {
    it.each(['', '/'])('returns requests and nfts, with the path ending in "%s"', async (end) => {
      const nft_gdn_ids = [nft.nft_gdn_id, other.nft_gdn_id]
      const { status, json } = await service.post(`getnfts${end}`, { nft_gdn_ids })
      expect(status).toBe(200)
      expect(Object.keys(json).sort()).toEqual(['nfts', 'requests'])
      expect(json.requests).toEqual({ nft_gdn_ids })
      expect(json.nfts).toEqual(expect.arrayContaining([nft, other]))
      expect(json.nfts).toHaveLength(2)
    })

    it('returns as request_metadata the metadata given at creation, with extra keys', async () => {
      const { nfts } = await service.ask('getnfts', { nft_gdn_ids: [nft.nft_gdn_id] })
      expect(nfts[0].request_metadata).toEqual(metadataOf('One', { artist: 'Ann' }))
    })

    it('requires an array of strings as nft_gdn_ids, else returns 422', async () => {
      for (const body of [
        {},
        { nft_gdn_ids: null },
        { nft_gdn_ids: [1] },
        { nft_gdn_ids: [[]] },
        { nft_gdn_ids: {} },
      ]) {
        const { status, json } = await service.post('getnfts', body)
        expect({ status, json }).toEqual({ status: 422, json: VALIDATION })
      }
    })
  })

  describe('POST /api/v1/getisgdnnft', () => {
    const bodyOf = ({ nft_gdn_id }: Nft) => ({
      receiver_wallet_address: first,
      blockchain,
      nft_gdn_ids: [nft_gdn_id] as string | string[],
    })

    it.each(['', '/'])('returns requests and response, with the path ending in "%s"', async (end) => {
      const { status, json } = await service.post(`getisgdnnft${end}`, bodyOf(nft))
      const { nft_gdn_id, token_id, contract_address, receiver_wallet_address } = nft
      expect(status).toBe(200)
      expect(json).toEqual({
        requests: { receiver_wallet_address: first, blockchain, nft_gdn_id },
        response: {
          isgdnnft: true,
          nft: { nft_gdn_id, token_id, contract_address, receiver_wallet_address, status: 'deployed' },
        },
      })
    })

    it('accepts a string or a list of one as nft_gdn_ids, and echoes it as the string nft_gdn_id', async () => {
      const asList = await service.ask('getisgdnnft', bodyOf(nft))
      const asText = await service.ask('getisgdnnft', { ...bodyOf(nft), nft_gdn_ids: nft.nft_gdn_id })
      expect(asList.requests.nft_gdn_id).toBe(nft.nft_gdn_id)
      expect(asText).toEqual(asList)
    })

    it('returns isgdnnft false for a foreign NFT, another owner or another blockchain', async () => {
      const elsewhere = {
        ...bodyOf(nft),
        blockchain: `${blockchain}-${blockchain === 'solana' ? 'testnet' : 'mumbai'}`,
      }
      expect((await service.ask('getisgdnnft', elsewhere)).response.isgdnnft).toBe(false)
      const unknown = await service.ask('getisgdnnft', { ...bodyOf(nft), nft_gdn_ids: ['unknown'] })
      expect(unknown.response.isgdnnft).toBe(false)
      const stranger = await service.ask('getisgdnnft', { ...bodyOf(nft), receiver_wallet_address: second })
      expect(stranger.response.isgdnnft).toBe(false)
    })

    it.each(['receiver_wallet_address', 'blockchain', 'nft_gdn_ids'])('requires %s, else returns 422', async (name) => {
      const body = bodyOf(nft)
      for (const faulty of [without(body, name), { ...body, [name]: 1 }, { ...body, [name]: null }]) {
        const { status, json } = await service.post('getisgdnnft', faulty)
        expect({ status, json }).toEqual({ status: 422, json: VALIDATION })
      }
    })
  })
})

describe('invalid JSON', () => {
  it.each([
    ['getnftgdnids', 400],
    ['getnfts', 422],
    ['getisgdnnft', 422],
  ])('%s returns %i and a Request Validation Error', async (name, expected) => {
    for (const body of ['{', '', '[]', '"text"', 'null']) {
      const { status, json } = await service.post(name, body)
      expect({ body, status, json }).toEqual({ body, status: expected, json: VALIDATION })
    }
  })
})
