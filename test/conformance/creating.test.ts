/** @module-tag slow */
import { beforeAll, describe, expect, it } from 'vitest'
import {
  ACCEPTED_DATE,
  accepted,
  type Collection,
  formA,
  isDeployed,
  metadataOf,
  NON_EMPTY,
  startService,
  walletsOn,
  without,
} from './service.ts'

const service = startService()
const { artist, first, second } = walletsOn('polygon')
const NOTHING = [null, 1, true, [], {}]

describe('POST /api/v1/createnft', () => {
  let body: Collection & { receiver_wallet_address: string; metadata: object[] }
  beforeAll(async () => {
    body = { ...(await service.collection()), receiver_wallet_address: first, metadata: [metadataOf('One')] }
  })

  it.each(['', '/'])('returns message, requests (echo) and nfts, with the path ending in "%s"', async (end) => {
    const { status, json } = await service.post(`createnft${end}`, body)
    const { contract_address, receiver_wallet_address, metadata } = body
    expect(status).toBe(200)
    expect(json).toEqual({
      message: NON_EMPTY,
      requests: { contract_address, receiver_wallet_address, metadata },
      nfts: [{ nft_gdn_ids: NON_EMPTY, accepted_date: ACCEPTED_DATE }],
    })
  })

  it.each(['contract_address', 'blockchain', 'receiver_wallet_address', 'metadata'])('requires %s', async (name) => {
    expect(await service.post('createnft', without(body, name))).toMatchObject({ status: 400, json: formA() })
    for (const value of name === 'metadata' ? [null, 1, true, [], 'text'] : NOTHING) {
      expect(await service.post('createnft', { ...body, [name]: value })).toMatchObject({ status: 400, json: formA() })
    }
  })

  it('requires enable_api', async () => {
    const closed = await service.collection('polygon', { enable_api: false })
    const answer = await service.post('createnft', { ...body, ...closed })
    expect(answer).toMatchObject({ status: 400, json: formA(NON_EMPTY, expect.stringContaining('enable_api')) })
  })

  it('returns status 400 and only {error: {title, message}} on failure', async () => {
    const { status, json } = await service.post('createnft', { ...body, receiver_wallet_address: 'nobody' })
    expect({ status, json }).toEqual({ status: 400, json: formA() })
  })
})

describe('POST /api/v1/createnfttrans', () => {
  let body: Collection & { sender_wallet_address: string; receiver_wallet_address: string; metadata: object[] }
  beforeAll(async () => {
    const wallets = { sender_wallet_address: first, receiver_wallet_address: second }
    body = { ...(await service.collection()), ...wallets, metadata: [metadataOf('A'), metadataOf('B')] }
  })

  it.each(['', '/'])('returns message, requests (echo) and nfts, with the path ending in "%s"', async (end) => {
    const { status, json } = await service.post(`createnfttrans${end}`, body)
    const { blockchain: _, ...echo } = body
    const nft = { nft_gdn_ids: NON_EMPTY, accepted_date: ACCEPTED_DATE }
    expect(status).toBe(200)
    expect(json).toEqual({ message: NON_EMPTY, requests: echo, nfts: [nft, nft] })
  })

  it('accepts an object as metadata, and returns one entry in nfts', async () => {
    const { requests, nfts } = await service.ask('createnfttrans', { ...body, metadata: metadataOf('Alone') })
    expect({ metadata: requests.metadata, count: nfts.length }).toEqual({ metadata: metadataOf('Alone'), count: 1 })
  })

  it.each(['contract_address', 'blockchain', 'sender_wallet_address', 'receiver_wallet_address', 'metadata'])(
    'requires %s',
    async (name) => {
      const refused = { status: 400, json: formA() }
      expect(await service.post('createnfttrans', without(body, name))).toMatchObject(refused)
      for (const value of name === 'metadata' ? [null, 1, true, [], 'text'] : NOTHING) {
        expect(await service.post('createnfttrans', { ...body, [name]: value })).toMatchObject(refused)
      }
    },
  )

  it.each(['title', 'description', 'file_fields'])('rejects metadata without %s, as createnft does', async (name) => {
    const metadata = [without(metadataOf('One'), name)]
    expect(await service.post('createnfttrans', { ...body, metadata })).toMatchObject({ status: 400, json: formA() })
  })

  it('gives the created NFT to the sender first, then transfers it to the receiver', async () => {
    const { nfts } = await service.ask('createnfttrans', body)
    const ids = nfts.map((nft: { nft_gdn_ids: string }) => nft.nft_gdn_ids)
    for (const nft of await service.detailsWhen(ids, isDeployed)) expect(nft.receiver_wallet_address).toBe(second)
    expect(await transfersOf(body.contract_address)).toEqual(
      expect.arrayContaining([`nobody to ${first}`.toLowerCase(), `${first} to ${second}`.toLowerCase()]),
    )
  })

  /** Returns the transfers of tokens, as emitted in the events of the chain. */
  async function transfersOf(contract: string): Promise<string[]> {
    const transfer = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
    const filter = { address: contract, topics: [transfer], fromBlock: '0x0', toBlock: 'latest' }
    const call = { jsonrpc: '2.0', id: 1, method: 'eth_getLogs', params: [filter] }
    const { result } = await service.ask('/rpc/polygon', call)
    const wallet = (topic: string) => (/^0x0+$/.test(topic) ? 'nobody' : `0x${topic.slice(-40)}`)
    return result.map(({ topics }: { topics: string[] }) => `${wallet(topics[1] ?? '')} to ${wallet(topics[2] ?? '')}`)
  }
})

describe.each(['polygon', 'polygon-mumbai'])('POST /api/v1/createcollection on %s', (blockchain) => {
  const body = { wallet_address: artist, name: 'First light', blockchain }

  it.each(['', '/'])('returns request (echo) and response, with the path ending in "%s"', async (end) => {
    const { status, json } = await service.post(`createcollection${end}`, body)
    expect(status).toBe(200)
    // Defaults: enable_api true, enable_transfer false.
    expect(json).toEqual({ request: { ...body, enable_api: true, enable_transfer: false }, response: accepted })
  })

  it('echoes description and image if given', async () => {
    const given = { ...body, description: 'Ten mornings', image: 'https://example.com/a.png' }
    const { request } = await service.ask('createcollection', given)
    expect(request).toEqual({ ...given, enable_api: true, enable_transfer: false })
  })

  it.each([
    [true, true],
    [true, false],
    [false, true],
    [false, false],
  ])('echoes enable_api %s and enable_transfer %s', async (enable_api, enable_transfer) => {
    const given = { ...body, enable_api, enable_transfer }
    expect((await service.ask('createcollection', given)).request).toEqual(given)
  })

  it.each(['wallet_address', 'name', 'blockchain'])(
    'requires %s, else returns a Request Validation Error',
    async (name) => {
      for (const faulty of [without(body, name), ...NOTHING.map((value) => ({ ...body, [name]: value }))]) {
        const { status, json } = await service.post('createcollection', faulty)
        expect(status).toBe(400)
        expect(json).toEqual(formA('Request Validation Error', expect.stringContaining(name)))
      }
    },
  )

  it.each(['enable_api', 'enable_transfer'])('requires a boolean as %s', async (name) => {
    for (const value of ['true', 1, null, []]) {
      const { json } = await service.post('createcollection', { ...body, [name]: value })
      expect(json).toEqual(formA('Request Validation Error', expect.stringContaining(name)))
    }
  })
})

describe.each(['solana', 'solana-testnet'])('POST /api/v1/createcollection on %s', (blockchain) => {
  const { artist: wallet_address } = walletsOn(blockchain)
  const image = 'https://example.com/a.png'
  const body = { wallet_address, name: 'First light', blockchain, description: 'Ten', image }

  it('returns request (echo with description and image) and response', async () => {
    const json = await service.ask('createcollection', body)
    expect(json).toEqual({ request: { ...body, enable_api: true, enable_transfer: false }, response: accepted })
  })

  it.each(['description', 'image', 'wallet_address', 'name'])('requires %s', async (name) => {
    const { json } = await service.post('createcollection', without(body, name))
    expect(json).toEqual(formA('Request Validation Error', expect.stringContaining(name)))
  })

  it('allows no NFT creation with enable_api false', async () => {
    const where = await service.collection(blockchain, { enable_api: false })
    const receiver_wallet_address = walletsOn(blockchain).first
    const answer = await service.post('createnft', { ...where, receiver_wallet_address, metadata: metadataOf('One') })
    expect(answer).toMatchObject({ status: 400, json: formA() })
  })
})
