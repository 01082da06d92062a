/** @module-tag slow */
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { PERMISSIONS } from '../../../src/api/permissions.ts'
import { newApiKey, registerApiKey } from '../../../src/server/services/authenticate.ts'
import { failCollection, withdrawCollection } from '../../../src/server/state/collections.ts'
import { insertAccount } from '../../../src/server/store/accounts.ts'
import { openStore } from '../../../src/server/store/open-store.ts'
import {
  type Answer,
  backendForFile,
  createTestCollection,
  exchangeBytes,
  plainMetadata,
  showCollection,
  type TestBackend,
  type TestCollection,
  until,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'

let backend: TestBackend
let collection: TestCollection

beforeAll(async () => {
  backend = await backendForFile()
  collection = await createTestCollection(backend)
})

// After each test, the backend is alive and logged no internal error.
afterEach(async () => {
  expect((await backend.get('/healthz')).status).toBe(200)
  expect(backend.log.filter((line) => line.includes('failed unexpectedly'))).toEqual([])
})

const createNft = (overrides: object) => ({
  contract_address: collection.address,
  blockchain: 'polygon',
  receiver_wallet_address: WALLETS[1],
  metadata: plainMetadata(1),
  ...overrides,
})

/** Expects a response of error form A without other fields. */
function expectFormA({ status, json }: Answer, expected: { status: number; title: string; message: RegExp }) {
  expect(json).toEqual({ error: { title: expected.title, message: expect.stringMatching(expected.message) } })
  expect(status).toBe(expected.status)
  expect(json.error.message).not.toMatch(/\bat .+:\d+:\d+|node_modules|\/src\//)
}

const validation = (status: number, message: RegExp) => ({ status, title: 'Request Validation Error', message })

describe('a request that breaks its schema', () => {
  it.each([
    ['createcollection', 400, { wallet_address: WALLETS[0], name: 'x' }, /blockchain is required/],
    [
      'createcollection',
      400,
      { wallet_address: WALLETS[0], name: 'x', blockchain: 'polygn' },
      /blockchain must be one of polygon, /,
    ],
    [
      'createcollection',
      400,
      { wallet_address: WALLETS[0], name: '', blockchain: 'polygon' },
      /name must not be empty/,
    ],
    [
      'createcollection',
      400,
      { wallet_address: WALLETS[0], name: 7, blockchain: 'polygon' },
      /name must be a string, not a number/,
    ],
    [
      'createcollection',
      400,
      { wallet_address: WALLETS[0], name: 'x', blockchain: 'polygon', enable_api: 'true' },
      /enable_api must be a boolean, not a string/,
    ],
    [
      'createcollection',
      400,
      { wallet_address: WALLETS[0], name: 'x', blockchain: 'polygon', color: 'red' },
      /color is not a known field/,
    ],
    [
      'createcollection',
      400,
      { wallet_address: WALLETS[0], name: 'x', blockchain: 'polygon', image: 'ftp://a/b' },
      /image must be an http\(s\), ipfs or ar URL/,
    ],
    [
      'createnft',
      400,
      {},
      /contract_address is required; blockchain is required; receiver_wallet_address is required; metadata is required/,
    ],
    ['createnft', 400, [], /the request must be an object, not a list/],
    ['createnft', 400, 'null', /the request must be an object, not null/],
    ['getnftgdnids', 400, { contract_addresses: WALLETS[0] }, /blockchain is required/],
    [
      'getnftgdnids',
      400,
      { contract_addresses: [WALLETS[0]], blockchain: 'polygon' },
      /contract_addresses must be a string, not a list/,
    ],
    ['getnfts', 422, {}, /nft_gdn_ids is required/],
    ['getnfts', 422, { nft_gdn_ids: 'one' }, /nft_gdn_ids must be a list, not a string/],
    ['getnfts', 422, { nft_gdn_ids: [] }, /nft_gdn_ids must have at least one ID/],
    ['getnfts', 422, { nft_gdn_ids: ['a', 2] }, /nft_gdn_ids\[1\] must be a string, not a number/],
    ['getnfts', 422, { nft_gdn_ids: Array.from({ length: 1001 }, String) }, /at most 1000 IDs/],
    ['getcollections', 400, {}, /transaction_gdn_ids is required/],
  ])('%s returns %i that names the field', async (name, status, body, message) => {
    expectFormA(await backend.post(`/api/v1/${name}`, body), validation(status, message))
  })

  it.each([
    [
      'a letter of the checksum flipped',
      { receiver_wallet_address: '0xfb6916095ca1df60bB79Ce92cE3Ea74c37c5d359' },
      /receiver_wallet_address has a wrong checksum/,
    ],
    [
      '39 digits',
      { receiver_wallet_address: WALLETS[0].slice(0, -1) },
      /receiver_wallet_address must have 40 hex digits after 0x, but has 39/,
    ],
    [
      'the zero address',
      { receiver_wallet_address: `0x${'0'.repeat(40)}` },
      /receiver_wallet_address is the zero address/,
    ],
    [
      'a number for an address',
      { receiver_wallet_address: 12 },
      /receiver_wallet_address must be a string, not a number/,
    ],
    [
      'eleven items',
      { metadata: { ...plainMetadata(1)[0], ...Object.fromEntries('abcdefghi'.split('').map((k) => [k, 'v'])) } },
      /metadata\[0\] has 11 metadata items, but at most 10/,
    ],
    [
      'nine file fields',
      {
        metadata: {
          title: 't',
          description: '',
          file_fields: Array.from({ length: 9 }, (_, i) => ({ key: `k${i}`, url: 'https://example.com/a' })),
        },
      },
      /metadata\[0\]\.file_fields must have at most 8 entries/,
    ],
    [
      'an empty title',
      { metadata: [{ title: '', description: '', file_fields: [] }] },
      /metadata\[0\]\.title must not be empty/,
    ],
    [
      'a number in an extra key',
      { metadata: [...plainMetadata(1), { title: 't', description: '', file_fields: [], year: 1e3 }] },
      /metadata\[1\]\.year must be a string, not a number/,
    ],
    [
      'a URL with a password',
      { metadata: { title: 't', description: '', file_fields: [{ key: 'image', url: 'https://u:p@example.com/' }] } },
      /metadata\[0\]\.file_fields\[0\]\.url has a user name or password/,
    ],
    ['an unknown field', { receiver: WALLETS[0] }, /receiver is not a known field/],
    ['no metadata at all', { metadata: [] }, /metadata must have at least one metadata object/],
  ])('createnft rejects %s', async (_what, overrides, message) => {
    expectFormA(await backend.post('/api/v1/createnft', createNft(overrides)), validation(400, message))
  })

  it('returns every validation error at once', async () => {
    const answer = await backend.post('/api/v1/createnft', createNft({ blockchain: 'moon', metadata: [{ title: 1 }] }))
    expectFormA(answer, validation(400, /blockchain must be one of/))
    for (const field of ['metadata[0].title', 'metadata[0].description', 'metadata[0].file_fields']) {
      expect(answer.json.error.message).toContain(field)
    }
  })

  it('stores nothing', async () => {
    const own = await createTestCollection(backend)
    await backend.post(
      '/api/v1/createnft',
      createNft({ contract_address: own.address, metadata: [...plainMetadata(2), {}] }),
    )
    const listed = await backend.post('/api/v1/getnftgdnids', {
      contract_addresses: own.address,
      blockchain: 'polygon',
    })
    expect(listed.json.nft_gdn_ids).toEqual([])
  })
})

describe('a request that does not match its collection', () => {
  it('returns 400 Bad Request if contract_address and blockchain are inconsistent', async () => {
    const answer = await backend.post('/api/v1/createnft', createNft({ blockchain: 'astar' }))
    expectFormA(answer, {
      status: 400,
      title: 'Bad Request',
      message: /contract_address and blockchain are inconsistent/,
    })
  })

  it('returns 400 Bad Request if no collection has that address', async () => {
    const answer = await backend.post('/api/v1/createnft', createNft({ contract_address: WALLETS[2] }))
    expectFormA(answer, { status: 400, title: 'Bad Request', message: /contract_address 0x\w+ is not a collection/ })
    const body = { contract_addresses: WALLETS[2], blockchain: 'polygon' }
    const listed = await backend.post('/api/v1/getnftgdnids', body)
    expectFormA(listed, { status: 400, title: 'Bad Request', message: /contract_addresses 0x\w+ is not a collection/ })
  })

  it('returns 400 if the collection was created with enable_api off', async () => {
    const closed = await createTestCollection(backend, { enable_api: false })
    const answer = await backend.post('/api/v1/createnft', createNft({ contract_address: closed.address }))
    expectFormA(answer, { status: 400, title: 'Bad Request', message: /enable_api is off/ })
  })

  it.each(['createnft', 'createnfttrans'])('%s returns 400 with the reason if the collection failed', async (name) => {
    const failed = await createTestCollection(backend, { enable_transfer: true })
    await until(
      () => showCollection(backend, failed.id),
      ({ status }) => status === 'deployed',
    )
    await withStore(backend.dataDir, (store) =>
      store.transaction(async (db) => {
        await withdrawCollection(db, failed.id)
        await failCollection(db, failed.id, 'its transaction reverted')
      }),
    )
    const sender = name === 'createnfttrans' ? { sender_wallet_address: WALLETS[0] } : {}
    const answer = await backend.post(`/api/v1/${name}`, createNft({ contract_address: failed.address, ...sender }))
    const message = 'the collection failed: its transaction reverted'
    expectFormA(answer, { status: 400, title: 'Bad Request', message: new RegExp(`^${message}$`) })
    const body = { contract_addresses: failed.address, blockchain: 'polygon' }
    expect((await backend.post('/api/v1/getnftgdnids', body)).json.nft_gdn_ids).toEqual([])
  })

  it('returns 400 Bad Request if the collection is on the other kind of blockchain', async () => {
    const answer = await backend.post('/api/v1/createnft', createNft({ blockchain: 'solana' }))
    const message = /contract_address and blockchain are inconsistent: 0x\w+ is an EVM address, but this blockchain is/
    expectFormA(answer, { status: 400, title: 'Bad Request', message })
  })

  it('returns 400 if a wallet address is of the other kind of blockchain', async () => {
    const receiver_wallet_address = 'So11111111111111111111111111111111111111112'
    const answer = await backend.post('/api/v1/createnft', createNft({ receiver_wallet_address }))
    expectFormA(answer, validation(400, /receiver_wallet_address is not an EVM address/))
  })
})

describe('an API key', () => {
  const body = { nft_gdn_ids: ['x'] }

  it('is required: without one the response is 401', async () => {
    const answer = await backend.post('/api/v1/getnfts', body, { 'x-api-key': '' })
    expectFormA(answer, { status: 401, title: 'Unauthorized', message: /x-api-key is missing/ })
  })

  it('must exist: an unknown one returns 401 that does not repeat it', async () => {
    const answer = await backend.post('/api/v1/getnfts', body, { 'x-api-key': 'gdn_guess' })
    expectFormA(answer, { status: 401, title: 'Unauthorized', message: /not valid/ })
    expect(JSON.stringify(answer.json)).not.toContain('gdn_guess')
  })

  it('is checked before the body', async () => {
    expect((await backend.post('/api/v1/getnfts', '{', { 'x-api-key': 'wrong' })).status).toBe(401)
  })

  it('needs the permission of the endpoint: without it the response is 403 that names it', async () => {
    const store = await openStore(`${backend.dataDir}/gdn.db`)
    const key = newApiKey()
    const now = Date.now()
    const accountId = 'readers'
    await insertAccount(store.db, { id: accountId, email: null, created_at: now })
    await registerApiKey(store.db, { key, accountId, name: 'reader', now })
    const allow = (permissions: readonly string[]) =>
      store.db
        .updateTable('api_keys')
        .set({ permissions: JSON.stringify(permissions) })
        .where('name', '=', 'reader')
        .execute()
    await allow(PERMISSIONS.filter((permission) => permission !== 'nft:create'))
    const headers = { 'x-api-key': key.reveal() }
    const refused = await backend.post('/api/v1/createnft', createNft({}), headers)
    expectFormA(refused, { status: 403, title: 'Forbidden', message: /lacks the permission nft:create/ })
    expect((await backend.post('/api/v1/getnfts', body, headers)).status).toBe(200)
    await store.close()
  })

  it('an API key of another account can neither mint into a collection nor read it', async () => {
    const store = await openStore(`${backend.dataDir}/gdn.db`)
    const key = newApiKey()
    const now = Date.now()
    await insertAccount(store.db, { id: 'stranger', email: null, created_at: now })
    await registerApiKey(store.db, { key, accountId: 'stranger', name: 'stranger', now })
    await store.close()
    const headers = { 'x-api-key': key.reveal() }
    const { json: created } = await backend.post('/api/v1/createnft', createNft({}))
    const nft_gdn_ids = [created.nfts[0].nft_gdn_ids]
    expect((await backend.post('/api/v1/createnft', createNft({}), headers)).status).toBe(400)
    expect((await backend.post('/api/v1/getnfts', { nft_gdn_ids }, headers)).json.nfts).toEqual([])
    const listed = await backend.post('/api/v1/getcollections', { transaction_gdn_ids: [collection.id] }, headers)
    expect(listed.json.collections).toEqual([])
  })

  it('is rejected if sent twice, even if both are valid', async () => {
    const key = backend.apiKey.reveal()
    const answer = await exchangeBytes(
      backend.url,
      `POST /api/v1/getnfts HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${key}\r\nx-api-key: ${key}\r\nconnection: close\r\n` +
        'content-type: application/json\r\ncontent-length: 2\r\n\r\n{}',
    )
    expect(answer).toMatch(/^HTTP\/1\.1 401 /)
  })

  it('an API key of 1 MB returns 431 in JSON', async () => {
    const answer = await exchangeBytes(
      backend.url,
      `POST /api/v1/getnfts HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${'k'.repeat(1024 * 1024)}\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 431 /)
    expect(answer.toLowerCase()).toContain('idempotency-supported: yes')
    const json = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))
    expect(json).toEqual({ error: { title: expect.any(String), message: expect.stringMatching(/header/) } })
  })
})

describe('a body that is not valid JSON', () => {
  it.each([
    ['createnft', 400],
    ['getnftgdnids', 400],
    ['createcollection', 400],
    ['getcollections', 400],
    ['getnfts', 422],
  ])('%s returns %i for text that is not JSON and for an empty body', async (name, status) => {
    for (const body of ['{"a":', 'not json', '']) {
      expectFormA(await backend.post(`/api/v1/${name}`, body), validation(status, /JSON/))
    }
  })

  it.each([
    '{"__proto__":{"admin":true},"nft_gdn_ids":["x"]}',
    '{"\\u005f_proto__":{"admin":true},"nft_gdn_ids":["x"]}',
    '{"nft_gdn_ids":["x"],"constructor":{"prototype":{"admin":true}}}',
    '{"nft_gdn_ids":[{"__proto__":null}]}',
  ])('returns 422 for %s and changes no prototype', async (body) => {
    expect((await backend.post('/api/v1/getnfts', body)).status).toBe(422)
    expect(Object.hasOwn(Object.prototype, 'admin')).toBe(false)
  })

  it.each(['__proto__', 'constructor', 'prototype'])('returns 400 for an extra key %s in metadata', async (key) => {
    const metadata = `{"title":"t","description":"","file_fields":[],${JSON.stringify(key)}:"x"}`
    const body = JSON.stringify(createNft({ metadata: 0 })).replace('"metadata":0', `"metadata":[${metadata}]`)
    expect((await backend.post('/api/v1/createnft', body)).status).toBe(400)
  })

  it.each([
    ['lists', '['.repeat(100_000) + ']'.repeat(100_000)],
    ['objects', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
  ])('returns 400 or 422 for %s nested 100,000 deep, in any field', async (_what, deep) => {
    const bodies = [deep, `{"nft_gdn_ids":${deep}}`, `{"nft_gdn_ids":[${deep}]}`, `{"other":${deep}}`]
    for (const body of bodies) expect((await backend.post('/api/v1/getnfts', body)).status).toBe(422)
    const inMetadata = JSON.stringify(createNft({ metadata: 0 })).replace('"metadata":0', `"metadata":[{"x":${deep}}]`)
    expect((await backend.post('/api/v1/createnft', inMetadata)).status).toBe(400)
  })

  it.each([
    ['metadata', (keys: string) => `{"metadata":[{"title":"t","description":"","file_fields":[],${keys}}]}`],
    ['the request', (keys: string) => `{${keys}}`],
  ])('returns a 400 of bounded size for 90,000 extra keys in %s', async (_where, bodyOf) => {
    const keys = Array.from({ length: 90_000 }, (_, i) => `" k${i}":"v"`).join(',')
    const answer = await backend.post('/api/v1/createnft', bodyOf(keys))
    expectFormA(answer, validation(400, /./))
    expect(answer.json.error.message.length).toBeLessThan(10_000)
  })

  it.each([
    ['getnfts', 422, `{"nft_gdn_ids":[${'1,'.repeat(90_000)}1]}`],
    ['createnft', 400, `{"metadata":[${'0,'.repeat(900)}0]}`],
    ['createnft', 400, `{"metadata":[{${Array.from({ length: 90_000 }, (_, i) => `"k${i}":1`).join(',')}}]}`],
  ])('%s returns %i for very many errors', async (name, status, body) => {
    expectFormA(await backend.post(`/api/v1/${name}`, body), validation(status, /./))
  })

  it('returns 400 that does not repeat a key of 1 MB', async () => {
    const answer = await backend.post('/api/v1/createnft', createNft({ ['k'.repeat(1024 * 1024)]: 1 }))
    expectFormA(answer, validation(400, /^k+…$/))
    expect(answer.json.error.message.length).toBeLessThan(10_000)
  })

  it.each(['1e400', '-0', '9007199254740993', 'true', 'null'])(
    'returns 422 for %s in place of a string',
    async (value) => {
      const answer = await backend.post('/api/v1/getnfts', `{"nft_gdn_ids":[${value}]}`)
      expectFormA(answer, validation(422, /nft_gdn_ids\[0\] must be a string/))
    },
  )

  it.each(['"\\ud800"', '"a\\u0000b"'])('rejects %s, which is text that no chain can store', async (text) => {
    const body = JSON.stringify(createNft({ metadata: 0 })).replace(
      '"metadata":0',
      `"metadata":[{"title":${text},"description":"","file_fields":[]}]`,
    )
    expectFormA(await backend.post('/api/v1/createnft', body), validation(400, /metadata\[0\]\.title has/))
  })

  it('returns 415 for any other content type and for none', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'x']) {
      const answer = await backend.post('/api/v1/getnfts', '{}', { 'content-type': type })
      expectFormA(answer, { status: 415, title: 'Unsupported Media Type', message: /application\/json/ })
    }
    const none = await exchangeBytes(
      backend.url,
      `POST /api/v1/getnfts HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-api-key: ${backend.apiKey.reveal()}\r\ncontent-length: 2\r\n\r\n{}`,
    )
    expect(none).toMatch(/^HTTP\/1\.1 415 /)
  })

  it('returns 413 for a JSON-RPC body over 512 KiB', async () => {
    const call = { jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: ['x'.repeat(512 * 1024)] }
    expect((await backend.post('/rpc/polygon', call)).status).toBe(413)
  })

  it('rejects a JSON-RPC call inside a JSON string', async () => {
    const call = { jsonrpc: '2.0', id: 1, method: 'eth_sendRawTransaction', params: ['0x02'] }
    const sent = JSON.stringify(JSON.stringify(call))
    const { json } = await backend.post('/rpc/polygon', sent, { origin: 'https://stranger.example' })
    expect(json).toEqual({ jsonrpc: '2.0', id: null, error: { code: -32600, message: expect.any(String) } })
  })

  it('returns 413 for a body over 4 MiB, with a length or in chunks', async () => {
    const big = JSON.stringify({ nft_gdn_ids: ['x'.repeat(4 * 1024 * 1024)] })
    expectFormA(await backend.post('/api/v1/getnfts', big), {
      status: 413,
      title: 'Payload Too Large',
      message: /larger/,
    })
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`
    const answer = await exchangeBytes(
      backend.url,
      `POST /api/v1/getnfts HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${backend.apiKey.reveal()}\r\ncontent-type: application/json\r\n` +
        `transfer-encoding: chunked\r\n\r\n${chunk.repeat(70)}`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 413 /)
  })
})

describe('an invalid request', () => {
  it('returns 404 in form A for an unknown path or method', async () => {
    expectFormA(await backend.post('/api/v1/nothing', {}), {
      status: 404,
      title: 'Not Found',
      message: /path does not exist/,
    })
    const get = await backend.get('/api/v1/createnft')
    expect([get.status, await get.json()]).toEqual([
      404,
      { error: { title: 'Not Found', message: expect.any(String) } },
    ])
  })

  it('returns 400 in form A for a path that is not UTF-8', async () => {
    const response = await backend.get('/ipfs/%ff%fe')
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({ error: { title: 'Bad Request', message: expect.any(String) } })
  })

  it.each([
    ['garbage', '\u0016\u0003\u0001 this is not HTTP\r\n\r\n'],
    ['an unknown method', 'BREW /pot HTTP/1.1\r\nhost: localhost\r\n\r\n'],
    ['a header without a name', 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n: x\r\n\r\n'],
    [
      'two lengths',
      'POST /api/v1/getnfts HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab',
    ],
  ])('returns 400 in JSON for %s', async (_what, bytes) => {
    const answer = await exchangeBytes(backend.url, bytes)
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))).toHaveProperty('error.message')
  })

  it('returns 400 for garbage after a valid request', async () => {
    const good = 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n'
    expect(await exchangeBytes(backend.url, `${good}\u0000\u0001garbage\r\n\r\n`)).toMatch(/HTTP\/1\.1 400 /)
  })
})
