import { beforeAll, describe, expect, it } from 'vitest'
import {
  backendForFile,
  backendForTest,
  createTestCollection,
  exchangeBytes,
  plainMetadata,
  settled,
  type TestBackend,
  until,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile({ requireStoredFiles: true })
})

const lines = () => backend.log.map((line) => JSON.parse(line))

/** The log line of a request, which is written once the response is sent. */
const lineOf = (id: string | null) =>
  until(
    async () => lines().find(({ msg, request }) => msg === 'request' && request === id),
    (line) => line !== undefined,
  )

describe('x-request-id', () => {
  it.each(['/healthz', '/nowhere', '/api/v1/getnfts', '/docs', '/ipfs/x'])(
    '%s returns a unique ID for each request',
    async (path) => {
      const ids = [
        (await backend.get(path)).headers.get('x-request-id'),
        (await backend.get(path)).headers.get('x-request-id'),
      ]
      expect(ids).toEqual([expect.stringMatching(UUID), expect.stringMatching(UUID)])
      expect(ids[0]).not.toBe(ids[1])
    },
  )

  it('a valid one from the client is kept, also if sent twice', async () => {
    for (const _ of [1, 2]) {
      const { headers } = await backend.get('/healthz', { 'x-request-id': 'order-7:retry.1_a' })
      expect(headers.get('x-request-id')).toBe('order-7:retry.1_a')
    }
  })

  it.each(['', ' ', 'a b', '../x', 'a"b', '{}', '-x', 'é', 'x'.repeat(129), 'a, b'])(
    'the invalid value %j is replaced',
    async (input) => {
      const raw = `GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-request-id: ${Buffer.from(input).toString('latin1')}\r\nconnection: close\r\n\r\n`
      const answer = await exchangeBytes(backend.url, Buffer.from(raw, 'latin1'))
      expect(/^x-request-id: (\S+)\r$/im.exec(answer)?.[1]).toMatch(UUID)
    },
  )

  it('a path that cannot be decoded has one too', async () => {
    const answer = await exchangeBytes(backend.url, 'GET /%zz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n')
    expect(/^x-request-id: (\S+)\r$/im.exec(answer)?.[1]).toMatch(UUID)
  })
})

describe('the log line of a request', () => {
  it('has method, route, status, milliseconds, account and ID', async () => {
    const { headers } = await backend.post('/api/v1/getnfts/', { nft_gdn_ids: ['a'] })
    const line = await lineOf(headers.get('x-request-id'))
    expect(line).toMatchObject({ level: 30, method: 'POST', route: '/api/v1/getnfts/', status: 200 })
    expect(line.account).toMatch(UUID)
    expect(line.ms).toBeGreaterThan(0)
  })

  it('has no body, key, header or URL parameters', async () => {
    const headers = { 'x-request-id': 'secretive', 'x-custom': 'hidden-header' }
    await backend.post('/api/v1/getnfts?signature=hidden-query', { nft_gdn_ids: ['hidden-body'] }, headers)
    await lineOf('secretive')
    await backend.get('/v1/wallet/none?signature=hidden-query', { 'x-request-id': 'unknown-path' })
    expect(await lineOf('unknown-path')).toMatchObject({ path: '/v1/wallet/none', status: 404 })
    expect(backend.log.join('')).not.toContain('hidden')
    expect(backend.log.join('')).not.toContain(backend.apiKey.reveal())
  })

  it('is written for rejected requests too, without an account', async () => {
    const { headers } = await backend.post('/api/v1/getnfts', {}, { 'x-api-key': '' })
    const line = await lineOf(headers.get('x-request-id'))
    expect(line).toMatchObject({ status: 401 })
    expect(line.account).toBeUndefined()
  })
})

it('the request ID is in the rows of the request and in the log lines of its transaction', async () => {
  const collection = await createTestCollection(backend)
  const { json, headers } = await backend.post('/api/v1/createnft', {
    contract_address: collection.address,
    blockchain: 'polygon',
    receiver_wallet_address: WALLETS[1],
    metadata: plainMetadata(2),
  })
  const ids: string[] = json.nfts.map((nft: { nft_gdn_ids: string }) => nft.nft_gdn_ids)
  await settled(backend, ids)
  const id = headers.get('x-request-id')
  const rows = await withStore(backend.dataDir, ({ db }) =>
    db.selectFrom('nfts').select('request_id').where('id', 'in', ids).execute(),
  )
  expect(rows).toEqual([{ request_id: id }, { request_id: id }])
  const logLines = lines().filter(({ requests }) => requests?.includes(id))
  expect(logLines).toMatchObject([
    { msg: 'a transaction is signed', kind: 'mint', signer: expect.stringMatching(/^0x/), nonce: expect.any(Number) },
    { msg: 'a transaction is confirmed', kind: 'mint', blockchain: 'polygon', status: 'success' },
  ])
  // Log lines that name only the transaction can be matched by these fields.
  const [signed, final] = logLines
  expect(signed.hash).toMatch(/^0x[0-9a-f]{64}$/)
  expect([final.hash, final.transaction]).toEqual([signed.hash, signed.transaction])
})

it.each(['createcollection', 'createnft', 'transfernft'])(
  'the request ID of %s is in the log lines of its transaction',
  async (endpoint) => {
    const collection = await createTestCollection(backend, { enable_transfer: true })
    const place = { contract_address: collection.address, blockchain: 'polygon' }
    const minted = await backend.post('/api/v1/createnft', {
      ...{ ...place, receiver_wallet_address: WALLETS[1], metadata: plainMetadata(1) },
    })
    const [nft] = await settled(backend, [minted.json.nfts[0].nft_gdn_ids])
    const bodies: Record<string, object> = {
      createcollection: { wallet_address: WALLETS[0], name: 'Logged', blockchain: 'polygon' },
      createnft: { ...place, receiver_wallet_address: WALLETS[1], metadata: plainMetadata(1) },
      transfernft: {
        ...{ ...place, token_id: nft?.token_id, nft_gdn_id: nft?.nft_gdn_id },
        ...{ sender_wallet_address: WALLETS[1], receiver_wallet_address: WALLETS[2] },
      },
    }
    const answer = await backend.post(`/api/v1/${endpoint}`, bodies[endpoint])
    expect(answer.status).toBe(200)
    const logLines = await until(
      async () => lines().filter(({ requests }) => requests?.includes(answer.headers.get('x-request-id'))),
      (found) => found.length === 2,
    )
    expect(logLines.map(({ msg }) => msg)).toEqual(['a transaction is signed', 'a transaction is confirmed'])
  },
)

it('a client may send an ID twice: the log names the accepted request of each', async () => {
  const body = { wallet_address: WALLETS[0], name: 'Twice', blockchain: 'polygon' }
  const headers = { 'x-request-id': 'same', 'idempotency-key': 'once' }
  await backend.post('/api/v1/createcollection', body, headers)
  await backend.post('/api/v1/createcollection', body, headers)
  await backend.post('/api/v1/createcollection', body, { 'x-request-id': 'same' })
  const found = await until(
    async () => lines().filter(({ msg, request }) => msg === 'request' && request === 'same'),
    (all) => all.length === 3,
  )
  const [first, repeated, other] = found.map(({ accepted }) => accepted)
  expect(first).toMatch(UUID)
  expect(repeated).toBe(first)
  expect(other).not.toBe(first)
})

it('the log line of an NFT that fails before it reaches the chain names its request', async () => {
  const collection = await createTestCollection(backend)
  const file = { key: 'image', url: 'ipfs://bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4' }
  const { json, headers } = await backend.post('/api/v1/createnft', {
    contract_address: collection.address,
    blockchain: 'polygon',
    receiver_wallet_address: WALLETS[1],
    metadata: { title: 'x', description: '', file_fields: [file] },
  })
  const [nft] = await settled(backend, [json.nfts[0].nft_gdn_ids])
  expect(nft?.status).toBe('failed')
  const line = await until(
    async () => lines().find(({ msg }) => msg === 'an NFT failed'),
    (found) => found !== undefined,
  )
  expect(line).toMatchObject({ requests: [headers.get('x-request-id')], reason: nft?.error })
})

it('a 500 response names the request ID with which its cause is logged', async () => {
  const broken = await backendForTest()
  await withStore(broken.dataDir, ({ db }) => db.schema.dropTable('nfts').execute())
  const { status, json, headers } = await broken.post(
    '/api/v1/getnfts',
    { nft_gdn_ids: ['x'] },
    { 'x-request-id': 'mine' },
  )
  expect([status, headers.get('x-request-id')]).toEqual([500, 'mine'])
  expect(json.error.message).toContain('the request mine')
  const cause = broken.log
    .map((line) => JSON.parse(line))
    .find(({ level, request }) => level === 50 && request === 'mine')
  expect(cause).toMatchObject({ error: expect.stringContaining('nfts'), route: '/api/v1/getnfts' })
})
