/** @module-tag slow */
import { beforeAll, describe, expect, it } from 'vitest'
import { accepted, formA, startService, walletsOn, without } from './service.ts'

const service = startService()
const { first, second, artist } = walletsOn('polygon')

describe('POST /api/v1/transfernft', () => {
  const refused = { status: 400, json: formA() }
  let where: Awaited<ReturnType<typeof service.collection>>
  beforeAll(async () => {
    where = await service.collection('polygon', { enable_transfer: true })
  })

  async function freshRequest() {
    const { nft_gdn_id, token_id } = await service.deployedNft(where)
    return { ...where, nft_gdn_id, token_id, sender_wallet_address: first, receiver_wallet_address: second }
  }

  async function ownerOf(id: string): Promise<string> {
    return (await service.ask('getnfts', { nft_gdn_ids: [id] })).nfts[0].receiver_wallet_address
  }

  it.each(['', '/'])('returns requests (echo of four) and response, with the path ending in "%s"', async (end) => {
    const body = await freshRequest()
    const { status, json } = await service.post(`transfernft${end}`, body)
    const { nft_gdn_id, token_id: _, ...echo } = body
    expect(status).toBe(200)
    expect(json).toEqual({ requests: echo, response: accepted })
    await service.detailsWhen([nft_gdn_id], (nft) => nft.receiver_wallet_address === second)
  })

  it('accepts token_id as tokenid, as in the request sample', async () => {
    const { token_id, ...body } = await freshRequest()
    await service.ask('transfernft', { ...body, tokenid: token_id })
    await service.detailsWhen([body.nft_gdn_id], (nft) => nft.receiver_wallet_address === second)
  })

  const REQUIRED = [
    'contract_address',
    'token_id',
    'blockchain',
    'nft_gdn_id',
    'sender_wallet_address',
    'receiver_wallet_address',
  ]

  it.each(REQUIRED)('requires a string as %s', async (name) => {
    const body = await freshRequest()
    for (const faulty of [
      without(body, name),
      ...[null, 1, true, [], {}].map((value) => ({ ...body, [name]: value })),
    ]) {
      expect(await service.post('transfernft', faulty)).toMatchObject(refused)
    }
    expect(await ownerOf(body.nft_gdn_id)).toBe(first)
  })

  it('rejects nft_gdn_id and token_id of different NFTs', async () => {
    const [one, two] = [await freshRequest(), await freshRequest()]
    expect(await service.post('transfernft', { ...one, token_id: two.token_id })).toMatchObject(refused)
    expect(await service.post('transfernft', { ...one, nft_gdn_id: two.nft_gdn_id })).toMatchObject(refused)
    expect(await service.post('transfernft', { ...one, nft_gdn_id: 'unknown' })).toMatchObject(refused)
  })

  it('rejects an NFT of another collection', async () => {
    const other = await service.collection('polygon')
    expect(await service.post('transfernft', { ...(await freshRequest()), ...other })).toMatchObject(refused)
  })

  it('requires the current owner as sender_wallet_address', async () => {
    const body = await freshRequest()
    expect(await service.post('transfernft', { ...body, sender_wallet_address: artist })).toMatchObject(refused)
    await service.ask('transfernft', body)
    await service.detailsWhen([body.nft_gdn_id], (nft) => nft.receiver_wallet_address === second)
    expect(await service.post('transfernft', { ...body, receiver_wallet_address: artist })).toMatchObject(refused)
    const back = { sender_wallet_address: second, receiver_wallet_address: first }
    await service.ask('transfernft', { ...body, ...back })
    await service.detailsWhen([body.nft_gdn_id], (nft) => nft.receiver_wallet_address === first)
  })

  it.each([{ enable_transfer: false }, { enable_transfer: undefined }])(
    'allows transfers with enable_transfer: true, but not with %j',
    async (flags) => {
      const closed = await service.collection('polygon', flags)
      const { nft_gdn_id, token_id } = await service.deployedNft(closed)
      const wallets = { sender_wallet_address: first, receiver_wallet_address: second }
      const answer = await service.post('transfernft', { ...closed, nft_gdn_id, token_id, ...wallets })
      expect(answer).toMatchObject({
        status: 400,
        json: formA(expect.any(String), expect.stringContaining('enable_transfer')),
      })
      expect(await ownerOf(nft_gdn_id)).toBe(first)
    },
  )
})
