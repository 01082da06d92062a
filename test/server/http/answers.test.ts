/** @module-tag slow */
import { beforeAll, describe, expect, it } from 'vitest'
import { SECURITY_HEADERS } from '../../../src/server/http/security-headers.ts'
import {
  backendForFile,
  createTestCollection,
  plainMetadata,
  settled,
  showCollection,
  type TestBackend,
  type TestCollection,
  until,
  WALLETS,
} from '../../helpers/backend.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const DATE = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/

let backend: TestBackend
let collection: TestCollection

beforeAll(async () => {
  backend = await backendForFile()
  collection = await createTestCollection(backend, { name: 'First light', wallet_address: WALLETS[0] })
})

const createNft = (overrides: object = {}, path = '/api/v1/createnft') =>
  backend.post(path, {
    contract_address: collection.address,
    blockchain: 'polygon',
    receiver_wallet_address: WALLETS[1],
    metadata: plainMetadata(1),
    ...overrides,
  })

describe('createcollection', () => {
  const body = { wallet_address: WALLETS[0], name: 'Second', blockchain: 'polygon' }

  it('echoes name, blockchain, both flags and the wallet, with defaults filled in', async () => {
    const { status, json } = await backend.post('/api/v1/createcollection', body)
    expect(status).toBe(200)
    expect(json).toEqual({
      request: { ...body, enable_api: true, enable_transfer: false },
      response: { transaction_gdn_id: expect.stringMatching(UUID), accepted_date: expect.stringMatching(DATE) },
    })
  })

  it('echoes description, image and is_locked when they were given', async () => {
    const request = {
      ...body,
      description: 'd',
      image: 'https://example.com/a.png',
      is_locked: true,
      enable_api: false,
    }
    const { json } = await backend.post('/api/v1/createcollection', request)
    expect(json.request).toEqual({ ...request, enable_transfer: false })
  })

  it('returns accepted_date in UTC', async () => {
    const before = Math.floor(Date.now() / 1000) * 1000
    const { json } = await backend.post('/api/v1/createcollection', body)
    const accepted = Date.parse(`${json.response.accepted_date.replace(' ', 'T')}Z`)
    expect(accepted).toBeGreaterThanOrEqual(before)
    expect(accepted).toBeLessThanOrEqual(Date.now())
  })

  it('gives two collections with equal requests different addresses', async () => {
    const other = await createTestCollection(backend, { name: 'First light', wallet_address: WALLETS[0] })
    expect(other.address).not.toBe(collection.address)
  })
})

describe('getcollections', () => {
  it('returns a collection by the ID from createcollection, with its address at once', async () => {
    const { status, json } = await backend.post('/api/v1/getcollections', { transaction_gdn_ids: [collection.id] })
    expect(status).toBe(200)
    expect(json).toEqual({
      requests: { transaction_gdn_ids: [collection.id] },
      collections: [
        {
          transaction_gdn_ids: collection.id,
          contract_address: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
          name: 'First light',
          blockchain: 'polygon',
          wallet_address: WALLETS[0],
          enable_api: true,
          enable_transfer: false,
          is_locked: false,
          description: '',
          image: '',
          status: expect.stringMatching(/^(initiated|deployed)$/),
          is_dynamic: false,
          is_frozen: false,
          enable_burn: false,
          royalty_bps: 0,
          royalty_receiver: null,
          max_supply: null,
        },
      ],
    })
  })

  it('returns the status deployed once the collection is on chain', async () => {
    const record = await until(
      () => showCollection(backend, collection.id),
      ({ status }) => status === 'deployed',
    )
    expect(record.status).toBe('deployed')
  })

  it('returns collections in the order of the IDs, each once', async () => {
    const { id } = await createTestCollection(backend)
    for (const ids of [
      [id, collection.id],
      [collection.id, id],
    ]) {
      const { json } = await backend.post('/api/v1/getcollections', { transaction_gdn_ids: [...ids, ...ids] })
      expect(json.collections.map((one: { transaction_gdn_ids: string }) => one.transaction_gdn_ids)).toEqual(ids)
    }
  })

  it('accepts one ID as a string and omits unknown IDs', async () => {
    const one = await backend.post('/api/v1/getcollections', { transaction_gdn_ids: collection.id })
    expect(one.json.requests).toEqual({ transaction_gdn_ids: collection.id })
    expect(one.json.collections).toHaveLength(1)
    const unknown = await backend.post('/api/v1/getcollections', { transaction_gdn_ids: ['nothing'] })
    expect(unknown).toMatchObject({ status: 200, json: { collections: [] } })
  })
})

describe('createnft', () => {
  it('returns a message, the echoed request and one ID for each metadata object', async () => {
    const metadata = plainMetadata(3)
    const { status, json } = await createNft({ metadata })
    expect(status).toBe(200)
    expect(json).toEqual({
      message: expect.stringMatching(/accepted/),
      requests: { contract_address: collection.address, receiver_wallet_address: WALLETS[1], metadata },
      nfts: metadata.map(() => ({
        nft_gdn_ids: expect.stringMatching(UUID),
        accepted_date: expect.stringMatching(DATE),
      })),
    })
    expect(new Set(json.nfts.map((nft: { nft_gdn_ids: string }) => nft.nft_gdn_ids)).size).toBe(3)
  })

  it('accepts one metadata object outside a list and echoes it as sent', async () => {
    const [metadata] = plainMetadata(1)
    const { json } = await createNft({ metadata })
    expect(json.requests.metadata).toEqual(metadata)
    expect(json.nfts).toHaveLength(1)
  })

  it('accepts addresses in lower case, echoes them unchanged and returns them with a checksum later', async () => {
    const lower = WALLETS[1].toLowerCase()
    const { json } = await createNft({
      contract_address: collection.address.toLowerCase(),
      receiver_wallet_address: lower,
    })
    expect(json.requests.receiver_wallet_address).toBe(lower)
    const [nft] = await settled(backend, [json.nfts[0].nft_gdn_ids])
    expect(nft).toMatchObject({ receiver_wallet_address: WALLETS[1], contract_address: collection.address })
  })
})

describe('getnftgdnids', () => {
  it('lists NFTs in the order of acceptance and echoes one contract_address', async () => {
    const own = await createTestCollection(backend)
    const ids: string[] = []
    for (const count of [2, 1, 3]) {
      const { json } = await createNft({ contract_address: own.address, metadata: plainMetadata(count) })
      ids.push(...json.nfts.map((nft: { nft_gdn_ids: string }) => nft.nft_gdn_ids))
    }
    const { status, json } = await backend.post('/api/v1/getnftgdnids', {
      contract_addresses: own.address,
      blockchain: 'polygon',
    })
    expect(status).toBe(200)
    expect(json).toEqual({ requests: { contract_address: own.address, blockchain: 'polygon' }, nft_gdn_ids: ids })
  })

  it('returns an empty list for a collection without NFTs', async () => {
    const own = await createTestCollection(backend)
    const body = { contract_addresses: own.address, blockchain: 'polygon' }
    expect((await backend.post('/api/v1/getnftgdnids', body)).json.nft_gdn_ids).toEqual([])
  })
})

describe('getnfts', () => {
  it('returns the records of the API reference, with metadata as it was sent', async () => {
    const metadata = {
      title: 'Dawn',
      description: 'd',
      file_fields: [],
      artist: 'A',
      attribute: [{ tag: 't', value: 'v' }],
    }
    const { json: created } = await createNft({ metadata })
    const id: string = created.nfts[0].nft_gdn_ids
    const [record] = await settled(backend, [id])
    expect(record).toEqual({
      nft_gdn_id: id,
      token_id: expect.stringMatching(/^[1-9][0-9]*$/),
      contract_address: collection.address,
      receiver_wallet_address: WALLETS[1],
      status: 'deployed',
      request_metadata: metadata,
      metadata_url: expect.stringMatching(/^ipfs:\/\/bafybei[a-z2-7]{52}\/\d+\.json$/),
      // Extensions.
      ...{ minted_to: WALLETS[1], transfers: 0, revision: 0, is_dynamic: false, is_frozen: false, burned: false },
    })
  })

  it('returns the status initiated, without token_id and metadata_url, until the NFT is on chain', async () => {
    const { json: created } = await createNft({
      // Nothing listens on port 9, so the server fetches the file again and again.
      metadata: { title: 't', description: '', file_fields: [{ key: 'image', url: 'http://127.0.0.1:9/a.png' }] },
    })
    const { json } = await backend.post('/api/v1/getnfts', { nft_gdn_ids: [created.nfts[0].nft_gdn_ids] })
    expect(json.nfts).toEqual([expect.objectContaining({ status: 'initiated', token_id: null, metadata_url: null })])
  })

  it('keeps the order of the IDs, omits unknown ones and echoes the request', async () => {
    const { json: created } = await createNft({ metadata: plainMetadata(3) })
    const [a, b, c] = created.nfts.map((nft: { nft_gdn_ids: string }) => nft.nft_gdn_ids)
    const requestedIds = [c, 'unknown', a, b]
    const { json } = await backend.post('/api/v1/getnfts', { nft_gdn_ids: requestedIds })
    expect(json.requests).toEqual({ nft_gdn_ids: requestedIds })
    expect(json.nfts.map((nft: { nft_gdn_id: string }) => nft.nft_gdn_id)).toEqual([c, a, b])
  })
})

describe('every endpoint', () => {
  it.each([
    ['createcollection', { wallet_address: WALLETS[0], name: 'n', blockchain: 'polygon' }],
    ['getcollections', { transaction_gdn_ids: ['x'] }],
    ['getnfts', { nft_gdn_ids: ['x'] }],
  ])('%s responds the same with a trailing slash', async (name, body) => {
    const [without, with_] = await Promise.all([
      backend.post(`/api/v1/${name}`, body),
      backend.post(`/api/v1/${name}/`, body),
    ])
    expect([without.status, with_.status]).toEqual([200, 200])
    expect(Object.keys(with_.json)).toEqual(Object.keys(without.json))
  })

  it('createnft and getnftgdnids respond the same with a trailing slash', async () => {
    expect((await createNft({}, '/api/v1/createnft/')).status).toBe(200)
    const body = { contract_addresses: collection.address, blockchain: 'polygon' }
    expect((await backend.post('/api/v1/getnftgdnids/', body)).status).toBe(200)
  })

  it('sends the headers for Idempotency-Key support and backend identity, with errors too', async () => {
    const body = (await (await backend.get('/healthz')).json()) as Record<string, string>
    const answers = await Promise.all([
      backend.get('/healthz'),
      backend.get('/nowhere'),
      backend.get('/ipfs/bafkqaaa'),
      backend.get('/%ff'),
      backend.post('/api/v1/getnfts', { nft_gdn_ids: ['x'] }),
      backend.post('/api/v1/getnfts', '{'),
      backend.post('/api/v1/getnfts', {}, { 'x-api-key': '' }),
      backend.post('/api/v1/createnft', {}),
    ])
    const names = ['idempotency-supported', 'gdn-backend-id', 'gdn-incarnation']
    for (const { status, headers } of answers)
      expect([status, ...names.map((name) => headers.get(name))]).toEqual([
        status,
        'yes',
        body.backend_id,
        body.incarnation,
      ])
  })

  it('allows web pages of any origin to read responses, errors included', async () => {
    const origin = { origin: 'https://shop.example' }
    const answers = [
      await backend.post('/api/v1/getnfts', { nft_gdn_ids: ['x'] }, origin),
      await backend.post('/api/v1/getnfts', {}, { ...origin, 'x-api-key': '' }),
      await backend.post('/api/v1/getnfts', {}, origin),
    ]
    expect(answers.map(({ status, headers }) => [status, headers.get('access-control-allow-origin')])).toEqual([
      [200, '*'],
      [401, '*'],
      [422, '*'],
    ])
    const preflight = await fetch(`${backend.url}/api/v1/createnft`, {
      method: 'OPTIONS',
      headers: {
        ...origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,x-api-key,idempotency-key',
      },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-headers')?.toLowerCase()).toContain('x-api-key')
  })

  it('lets web pages read every header of the API', async () => {
    // Headers of HTTP and of CORS.
    const standard = /^(access-control-|content-|date$|connection$|keep-alive$|transfer-encoding$|vary$)/
    const security = new Set(Object.keys(SECURITY_HEADERS))
    const origin = { origin: 'https://shop.example' }
    const answers = [
      await backend.post('/api/v1/getnfts', { nft_gdn_ids: ['x'] }, origin),
      await backend.post('/api/v1/getnfts', {}, { ...origin, 'x-api-key': '' }),
    ]
    for (const { headers } of answers) {
      const exposed = headers.get('access-control-expose-headers')?.toLowerCase().split(', ')
      const own = [...headers.keys()].filter((name) => !standard.test(name) && !security.has(name))
      expect(own).toContain('nft-history-supported')
      expect(exposed).toEqual(expect.arrayContaining(own))
    }
  })

  it('other routes, such as /healthz, send no CORS headers', async () => {
    const response = await backend.get('/healthz', { origin: 'https://shop.example' })
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([200, null])
  })
})
