import { beforeAll, expect, it } from 'vitest'
import {
  backendForFile,
  createTestCollection,
  plainMetadata,
  type TestBackend,
  type TestCollection,
  WALLETS,
} from '../../helpers/backend.ts'

let backend: TestBackend
let collection: TestCollection

beforeAll(async () => {
  backend = await backendForFile()
  collection = await createTestCollection(backend)
})

const body = (overrides: object = {}) => ({
  contract_address: collection.address,
  blockchain: 'polygon',
  receiver_wallet_address: WALLETS[1],
  metadata: plainMetadata(2),
  ...overrides,
})
const createNft = (request: unknown, key: string) =>
  backend.post('/api/v1/createnft', request, { 'idempotency-key': key })
const listIds = async (): Promise<string[]> =>
  (await backend.post('/api/v1/getnftgdnids', { contract_addresses: collection.address, blockchain: 'polygon' })).json
    .nft_gdn_ids

it('the same key and body replay the first response, with a header, and create nothing', async () => {
  const first = await createNft(body(), 'replay')
  const count = (await listIds()).length
  const second = await createNft(body(), 'replay')
  expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([200, null])
  expect([second.status, second.headers.get('idempotency-replayed')]).toEqual([200, 'true'])
  expect(second.json).toEqual(first.json)
  expect(await listIds()).toHaveLength(count)
})

it('a body with its fields in another order is the same body', async () => {
  const { metadata, ...rest } = body()
  const first = await createNft({ ...rest, metadata }, 'order')
  const second = await createNft({ metadata, ...rest }, 'order')
  expect(second.headers.get('idempotency-replayed')).toBe('true')
  expect(second.json).toEqual(first.json)
})

it('the same key with another body returns 422 and creates nothing', async () => {
  await createNft(body(), 'other-body')
  const count = (await listIds()).length
  const { status, headers, json } = await createNft(body({ receiver_wallet_address: WALLETS[2] }), 'other-body')
  expect(status).toBe(422)
  expect(headers.get('error-code')).toBe('idempotency_key_reused')
  expect(json.error).toEqual({
    title: 'Request Validation Error',
    message: expect.stringMatching(/Idempotency-Key .* another body/),
  })
  expect(await listIds()).toHaveLength(count)
})

it('a key is valid for one endpoint only', async () => {
  await createNft(body(), 'scoped')
  const request = { wallet_address: WALLETS[0], name: 'Scoped', blockchain: 'polygon' }
  const { status, headers } = await backend.post('/api/v1/createcollection', request, { 'idempotency-key': 'scoped' })
  expect([status, headers.get('idempotency-replayed')]).toEqual([200, null])
})

it('createcollection with the same key creates one collection', async () => {
  const request = { wallet_address: WALLETS[0], name: 'Once', blockchain: 'polygon' }
  const answers = await Promise.all(
    [1, 2, 3].map(() => backend.post('/api/v1/createcollection', request, { 'idempotency-key': 'once' })),
  )
  expect(new Set(answers.map(({ json }) => json.response.transaction_gdn_id)).size).toBe(1)
})

it('20 simultaneous requests with one key create the NFTs once, and all get the same response', async () => {
  const before = (await listIds()).length
  const answers = await Promise.all(Array.from({ length: 20 }, () => createNft(body(), 'race')))
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
  expect(new Set(answers.map(({ json }) => JSON.stringify(json))).size).toBe(1)
  expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === 'true')).toHaveLength(19)
  expect(await listIds()).toHaveLength(before + 2)
})

it('each request without a key creates NFTs', async () => {
  const before = (await listIds()).length
  await Promise.all([1, 2].map(() => backend.post('/api/v1/createnft', body())))
  expect(await listIds()).toHaveLength(before + 4)
})

it('a rejected request does not store its key', async () => {
  const refused = await createNft(body({ blockchain: 'astar' }), 'refused')
  expect(refused.status).toBe(400)
  const { status, headers } = await createNft(body(), 'refused')
  expect([status, headers.get('idempotency-replayed')]).toEqual([200, null])
})

it('rejects a key over 255 characters and accepts one of 255', async () => {
  const long = await createNft(body(), 'k'.repeat(256))
  expect(long.status).toBe(400)
  expect(long.headers.get('error-code')).toBe('idempotency_key_invalid')
  expect(long.json.error.message).toContain('Idempotency-Key')
  expect((await createNft(body(), 'k'.repeat(255))).status).toBe(200)
})

it('a key is kept across a restart', async () => {
  const first = await createNft(body(), 'restart')
  await backend.close()
  backend = await backendForFile({ dataDir: backend.dataDir })
  const second = await createNft(body(), 'restart')
  expect(second.headers.get('idempotency-replayed')).toBe('true')
  expect(second.json).toEqual(first.json)
})
