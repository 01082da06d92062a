/** @module-tag slow */
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { EndpointName } from '../../../src/api/endpoints.ts'
import {
  createTestCollection,
  exchangeBytes,
  freshDataDir,
  mint,
  plainMetadata,
  settled,
  showNfts,
  startTestBackend,
  type TestBackend,
  type TestCollection,
  WALLETS,
} from '../../helpers/backend.ts'
import { ENDPOINTS } from '../../helpers/endpoints.ts'
import { memoryInUse, rowCounts, streamBytes } from '../../helpers/hostile.ts'
import { report } from '../../helpers/seed.ts'
import { solanaWallet } from '../../helpers/solana.ts'

/** Of the backend that receives slow requests. Other requests have the default of a minute. */
const REQUEST_TIMEOUT_MS = 1000
const MIB = 2 ** 20

let dataDir: Awaited<ReturnType<typeof freshDataDir>>
let impatientDir: typeof dataDir
let backend: TestBackend
let impatient: TestBackend
let collection: TestCollection
let nftId: string
let rows: Record<string, number>
let memoryBefore: number

beforeAll(async () => {
  dataDir = await freshDataDir()
  backend = await startTestBackend(dataDir.path, { logLevel: 'error' })
  impatientDir = await freshDataDir()
  impatient = await startTestBackend(impatientDir.path, { requestTimeoutMs: REQUEST_TIMEOUT_MS, logLevel: 'error' })
  collection = await createTestCollection(backend, { enable_transfer: true })
  const ids = await mint(backend, collection, plainMetadata(1))
  await settled(backend, ids)
  nftId = ids[0] ?? ''
  memoryBefore = memoryInUse()
})
afterAll(async () => {
  await Promise.all([backend?.close(), impatient?.close()])
  await Promise.all([dataDir?.remove(), impatientDir?.remove()])
})

/** After each test, the backends are alive, logged nothing and have an unchanged Object.prototype. */
afterEach(async () => {
  for (const each of [backend, impatient]) {
    expect((await each.get('/healthz')).status).toBe(200)
    expect(each.log).toEqual([])
  }
  expect(Object.hasOwn(Object.prototype, 'admin')).toBe(false)
})

const requestOf: Record<string, () => Record<string, unknown>> = {
  createnft: () => ({
    contract_address: collection.address,
    blockchain: 'polygon',
    receiver_wallet_address: WALLETS[1],
    metadata: plainMetadata(1),
  }),
  createcollection: () => ({ wallet_address: WALLETS[0], name: 'x', blockchain: 'polygon' }),
  getnftgdnids: () => ({ contract_addresses: collection.address, blockchain: 'polygon' }),
  getnfts: () => ({ nft_gdn_ids: [nftId] }),
  createnfttrans: () => ({
    contract_address: collection.address,
    blockchain: 'polygon',
    sender_wallet_address: WALLETS[1],
    receiver_wallet_address: WALLETS[2],
    metadata: plainMetadata(1),
  }),
  transfernft: () => ({
    contract_address: collection.address,
    token_id: '1',
    blockchain: 'polygon',
    nft_gdn_id: nftId,
    sender_wallet_address: WALLETS[1],
    receiver_wallet_address: WALLETS[2],
  }),
  getisgdnnft: () => ({ receiver_wallet_address: WALLETS[1], blockchain: 'polygon', nft_gdn_ids: [nftId] }),
  gettransactions: () => ({ transaction_gdn_ids: [collection.id] }),
  getcollections: () => ({ transaction_gdn_ids: [collection.id] }),
  getpresignedurl: () => ({ email: 'artist@example.com', timeout: 5 }),
}

/** The JSON body of a valid request, with one value replaced by raw text. */
function withRaw(name: EndpointName, field: string, raw: string): string {
  const body = { ...requestOf[name]?.(), [field]: 'HERE' }
  return JSON.stringify(body).replace('"HERE"', () => raw)
}
const withMetadata = (raw: string) => withRaw('createnft', 'metadata', `[${raw}]`)
const withTitle = (raw: string) => withMetadata(`{"title":${raw},"description":"","file_fields":[]}`)
const withFile = (url: string) =>
  withMetadata(`{"title":"t","description":"","file_fields":[{"key":"image","url":${JSON.stringify(url)}}]}`)
const deep = (open: string, close: string, depth: number) => `${open.repeat(depth)}1${close.repeat(depth)}`

/** A raw request head with a valid key. */
const headOf = ({ apiKey }: TestBackend, name: EndpointName, headers: readonly string[]) =>
  [
    `POST ${ENDPOINTS[name].path} HTTP/1.1`,
    'host: localhost',
    `x-api-key: ${apiKey.reveal()}`,
    ...headers,
    '',
    '',
  ].join('\r\n')
const head = (name: EndpointName, ...headers: string[]) => headOf(backend, name, headers)
const slowHead = (name: EndpointName, ...headers: string[]) => headOf(impatient, name, headers)
const JSON_TYPE = 'content-type: application/json'

const FORM_A = { error: { title: expect.any(String), message: expect.any(String) } }
const FORM_B = { errorCode: expect.any(String), message: expect.any(String), detail: expect.any(Array) }
const formOf = (name: EndpointName) => (ENDPOINTS[name].errorForm === 'A' ? FORM_A : FORM_B)

/** The status and JSON of a raw response. */
function read(answer: string): { status: number; json: unknown } {
  const [status = ''] = /(?<=^HTTP\/1\.1 )\d+/.exec(answer) ?? []
  return { status: Number(status), json: JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)) as unknown }
}

describe('hostile requests store nothing', () => {
  beforeEach(async () => {
    rows = await rowCounts(dataDir.path)
  })
  afterEach(async () => {
    expect(await rowCounts(dataDir.path)).toEqual(rows)
  })
  afterAll(() => {
    const after = memoryInUse()
    report({ 'hostile requests': { 'MiB before': memoryBefore, 'MiB after': after } })
    expect(after - memoryBefore).toBeLessThan(64)
  })

  type Case = [number, string, EndpointName, number, () => string]
  const json: Case[] = [
    ...[
      '9007199254740993',
      '1',
      '-0',
      '1e400',
      '"-1"',
      '"1e3"',
      '"01"',
      '"0x1"',
      '"1.0"',
      '" 1"',
      '"９"',
      `"${'9'.repeat(79)}"`,
      `"${'9'.repeat(78)}"`,
      '"9007199254740993"',
    ].map(
      (raw): Case => [
        21,
        `token_id ${raw.slice(0, 30)}`,
        'transfernft',
        400,
        () => withRaw('transfernft', 'token_id', raw),
      ],
    ),
    [21, 'a token ID under both field names', 'transfernft', 400, () => withRaw('transfernft', 'tokenid', '"1"')],
    [34, 'two IDs in place of one', 'getisgdnnft', 422, () => withRaw('getisgdnnft', 'nft_gdn_ids', '["a","b"]')],
    [
      35,
      'an ID of 1 MB in a transfer',
      'transfernft',
      400,
      () => withRaw('transfernft', 'nft_gdn_id', `"${'i'.repeat(MIB)}"`),
    ],
    [37, 'an unknown field in a transfer', 'transfernft', 400, () => withRaw('transfernft', 'amount', '1')],
    [37, 'an unknown field in getisgdnnft', 'getisgdnnft', 422, () => withRaw('getisgdnnft', 'owner', '1')],
    [19, '__proto__ in a metadata object', 'createnft', 400, () => withMetadata('{"__proto__":{"admin":true}}')],
    [
      19,
      '__proto__ as an escape',
      'createcollection',
      400,
      () => withRaw('createcollection', '\u005f_proto__', '{"admin":true}'),
    ],
    [
      19,
      '__proto__ spelled in escapes, in form B',
      'getpresignedurl',
      400,
      () => '{"\\u005f\\u005fproto\\u005f\\u005f":{"admin":true},"email":"a@example.com"}',
    ],
    [
      19,
      'constructor.prototype',
      'createcollection',
      400,
      () => withRaw('createcollection', 'constructor', '{"prototype":{"admin":true}}'),
    ],
    [
      19,
      '__proto__ as the key of a file',
      'createnft',
      400,
      () =>
        withMetadata(
          '{"title":"t","description":"","file_fields":[{"key":"__proto__","url":"https://example.com/a.png"}]}',
        ),
    ],
    [
      19,
      '__proto__ for a blockchain',
      'createcollection',
      400,
      () => withRaw('createcollection', 'blockchain', '"__proto__"'),
    ],
    [19, 'toString for a blockchain', 'getnftgdnids', 400, () => withRaw('getnftgdnids', 'blockchain', '"toString"')],
    [20, 'lists nested 100,000 deep, in form B', 'getpresignedurl', 400, () => deep('[', ']', 100_000)],
    [
      20,
      'objects nested 100,000 deep in a field',
      'getpresignedurl',
      400,
      () => withRaw('getpresignedurl', 'email', deep('{"a":', '}', 100_000)),
    ],
    [20, 'a million unclosed lists', 'getnfts', 422, () => '['.repeat(MIB)],
    [
      20,
      'objects nested 100,000 deep in an attribute',
      'createnft',
      400,
      () => withMetadata(`{"title":"t","description":"","file_fields":[],"attribute":${deep('[', ']', 100_000)}}`),
    ],
    [21, '1e400 for a timeout', 'getpresignedurl', 400, () => withRaw('getpresignedurl', 'timeout', '1e400')],
    [21, '-0 for a timeout', 'getpresignedurl', 400, () => withRaw('getpresignedurl', 'timeout', '-0')],
    [
      21,
      '2^53+1 for a timeout',
      'getpresignedurl',
      400,
      () => withRaw('getpresignedurl', 'timeout', '9007199254740993'),
    ],
    [
      21,
      'a fraction close to an integer',
      'getpresignedurl',
      400,
      () => withRaw('getpresignedurl', 'timeout', '5.0000000001'),
    ],
    [21, 'a number of 1 MB', 'getpresignedurl', 400, () => withRaw('getpresignedurl', 'timeout', '9'.repeat(MIB))],
    [21, 'a number for a title', 'createnft', 400, () => withTitle('1e400')],
    [21, 'NaN', 'getpresignedurl', 400, () => withRaw('getpresignedurl', 'timeout', 'NaN')],
    [22, 'a lone surrogate in a name', 'createcollection', 400, () => withRaw('createcollection', 'name', '"\\ud83d"')],
    [22, 'surrogates in the wrong order', 'createnft', 400, () => withTitle('"\\ude00\\ud83d"')],
    [22, 'a lone surrogate for an ID', 'getnfts', 422, () => withRaw('getnfts', 'nft_gdn_ids', '["\\udfff"]')],
    [
      22,
      'a lone surrogate in a metadata key',
      'createnft',
      400,
      () => withMetadata('{"title":"t","description":"","file_fields":[],"\\ud800":"x"}'),
    ],
    [22, 'a NUL in a name', 'createcollection', 400, () => withRaw('createcollection', 'name', '"a\\u0000b"')],
    [
      23,
      '100,000 unknown fields, in form B',
      'getpresignedurl',
      400,
      () => JSON.stringify(Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`k${i}`, i]))),
    ],
    [24, 'JSON cut in the middle of a string', 'createnft', 400, () => withTitle('"cut"').slice(0, -60)],
    [24, 'two JSON texts', 'createnft', 400, () => `${withTitle('"a"')}\n${withTitle('"b"')}`],
    [25, 'a field twice', 'createnft', 400, () => withTitle('"a"').replace('{', '{"blockchain":"astar",')],
    [
      25,
      'a field twice with the same value',
      'getnfts',
      422,
      () => withRaw('getnfts', 'nft_gdn_ids', '[]').replace('{', '{"nft_gdn_ids":[],'),
    ],
    [
      25,
      'a field twice, once spelled in escapes',
      'createcollection',
      400,
      () => withRaw('createcollection', 'name', '"x"').replace('{', '{"\\u006eame":"y",'),
    ],
    [
      25,
      'a metadata key twice',
      'createnft',
      400,
      () => withMetadata('{"title":"a","title":"b","description":"","file_fields":[]}'),
    ],
    [25, 'a field twice, in form B', 'getpresignedurl', 400, () => '{"email":"a@example.com","email":"b@example.com"}'],
    [
      34,
      'a list in place of one value',
      'createnft',
      400,
      () => withRaw('createnft', 'contract_address', JSON.stringify([WALLETS[0], WALLETS[1]])),
    ],
    [
      35,
      'a metadata key of 1 MB',
      'createnft',
      400,
      () => withMetadata(`{"title":"t","description":"","file_fields":[],"${'k'.repeat(MIB)}":"x"}`),
    ],
    [
      35,
      'an ID of 1 MB',
      'getcollections',
      400,
      () => withRaw('getcollections', 'transaction_gdn_ids', `"${'i'.repeat(MIB)}"`),
    ],
    [
      35,
      'an e-mail address of 1 MB',
      'getpresignedurl',
      400,
      () => withRaw('getpresignedurl', 'email', `"${'a'.repeat(MIB)}@example.com"`),
    ],
    [35, 'a name of 1 MB', 'createcollection', 400, () => withRaw('createcollection', 'name', `"${'n'.repeat(MIB)}"`)],
    [
      37,
      'an unknown field in a collection',
      'createcollection',
      400,
      () => withRaw('createcollection', 'owner', '"me"'),
    ],
    [37, 'an unknown field, in form B', 'getpresignedurl', 400, () => withRaw('getpresignedurl', 'expiry', '1')],
    [
      37,
      'an unknown field in a file field',
      'createnft',
      400,
      () =>
        withMetadata(
          '{"title":"t","description":"","file_fields":[{"key":"image","url":"https://example.com/a","size":1}]}',
        ),
    ],
    [37, 'a field in capital letters', 'getnftgdnids', 400, () => withRaw('getnftgdnids', 'BLOCKCHAIN', '"polygon"')],
    ...[
      'file:///etc/passwd',
      'data:image/png;base64,AAAA',
      'gopher://127.0.0.1:6379/_FLUSHALL',
      'javascript:alert(1)',
      'https://user@example.com/a.png',
      'https://:secret@example.com/a.png',
      'http://exa mple.com/a.png',
      'http://[::1',
      'http:\\\\example.com/a.png',
      '//example.com/a.png',
      'ipfs://../../etc/passwd',
      `https://example.com/${'a'.repeat(MIB)}`,
    ].map((url): Case => [40, `a file at ${url.slice(0, 40)}`, 'createnft', 400, () => withFile(url)]),
    [
      40,
      'an image of a collection at file:',
      'createcollection',
      400,
      () => withRaw('createcollection', 'image', '"file:///etc/passwd"'),
    ],
    ...[
      ['a truncated address', WALLETS[0].slice(0, 40)],
      ['0X', WALLETS[0].replace('0x', '0X')],
      ['no 0x', WALLETS[0].slice(2)],
      ['one digit too many', `${WALLETS[0]}0`],
      ['the zero address', `0x${'0'.repeat(40)}`],
      ['one letter of the checksum in the other case', WALLETS[0].replace('B', 'b')],
      ['a Cyrillic letter', WALLETS[0].replace('a', 'а')],
      ['trailing white space', `${WALLETS[0]} `],
      ['a number made by a spreadsheet', '1.15E+47'],
      ['an ENS name', 'vitalik.eth'],
      ['a Solana address', solanaWallet('a')],
    ].flatMap(([what = '', value]): Case[] => [
      [
        44,
        `a receiver: ${what}`,
        'createnft',
        400,
        () => withRaw('createnft', 'receiver_wallet_address', JSON.stringify(value)),
      ],
      [
        44,
        `a wallet: ${what}`,
        'createcollection',
        400,
        () => withRaw('createcollection', 'wallet_address', JSON.stringify(value)),
      ],
      [
        44,
        `a sender: ${what}`,
        'transfernft',
        400,
        () => withRaw('transfernft', 'sender_wallet_address', JSON.stringify(value)),
      ],
      [
        44,
        `a first owner: ${what}`,
        'createnfttrans',
        400,
        () => withRaw('createnfttrans', 'sender_wallet_address', JSON.stringify(value)),
      ],
      [
        44,
        `an owner: ${what}`,
        'getisgdnnft',
        422,
        () => withRaw('getisgdnnft', 'receiver_wallet_address', JSON.stringify(value)),
      ],
      [
        44,
        `a contract: ${what}`,
        'getnftgdnids',
        400,
        () => withRaw('getnftgdnids', 'contract_addresses', JSON.stringify(value)),
      ],
    ]),
    ...[
      ['the letters 0OIl', `0OIl${solanaWallet('a').slice(4)}`],
      ['31 bytes', '4uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJzTrw'],
      ['33 bytes', '1'.repeat(33)],
      ['an extra leading 1', `1${solanaWallet('a')}`],
      ['an EVM address', WALLETS[0]],
      ['nothing', ''],
    ].map(
      ([what, value]): Case => [
        45,
        `a wallet on Solana: ${what}`,
        'createcollection',
        400,
        () =>
          JSON.stringify({
            wallet_address: value,
            name: 'x',
            blockchain: 'solana',
            description: 'd',
            image: 'https://example.com/a',
          }),
      ],
    ),
  ]

  it.each(json)('bad input %i: %s (%s returns %i)', async (_line, _what, name, status, bodyOf) => {
    const body = bodyOf()
    const answer = await backend.post(ENDPOINTS[name].path, body)
    expect(answer.json).toEqual(formOf(name))
    expect(answer.status).toBe(status)
    // The response doesn't grow with the request either.
    expect(JSON.stringify(answer.json).length).toBeLessThan(60_000)
  })

  it('bad input 19: a field name inside string values is not a duplicate key', async () => {
    const answer = await backend.post('/api/v1/getnfts', '{"nft_gdn_ids":["nft_gdn_ids:","\\"nft_gdn_ids\\":"]}')
    expect(answer.status).toBe(200)
  })

  it.each(['getnfts', 'createnft', 'getpresignedurl'] as const)(
    'bad input 31: 30 MB for %s returns 413',
    async (name) => {
      const response = await streamBytes(backend.url, head(name, JSON_TYPE, `content-length: ${30 * MIB}`), {
        piece: ' '.repeat(0x10000),
        most: 30 * MIB,
      })
      expect(read(response.answer)).toEqual({ status: 413, json: formOf(name) })
      expect(response.sent).toBeLessThan(30 * MIB)
    },
  )

  it('bad input 31: an endless chunked body is cut off soon after 4 MiB', async () => {
    const { answer, sent } = await streamBytes(backend.url, head('getnfts', JSON_TYPE, 'transfer-encoding: chunked'), {
      piece: `10000\r\n${' '.repeat(0x10000)}\r\n`,
      most: 1024 * MIB,
    })
    expect(read(answer)).toEqual({ status: 413, json: FORM_A })
    expect(sent).toBeLessThan(64 * MIB)
  })

  it('bad input 31: sends one 413 if the request times out before the rest of the body is read', async () => {
    const piece = `100000\r\n${' '.repeat(MIB)}\r\n`
    const dir = await freshDataDir()
    // Shorter than the 2 s that the client then has to read the response.
    const own = await startTestBackend(dir.path, { requestTimeoutMs: 1900, logLevel: 'error' })
    const start = headOf(own, 'getnfts', [JSON_TYPE, 'transfer-encoding: chunked'])
    const { answer } = await streamBytes(own.url, start, { piece, most: 6 * MIB, everyMs: 1 })
    expect(read(answer)).toEqual({ status: 413, json: FORM_A })
    await own.close()
    await dir.remove()
  })

  it.each([
    ['larger than any number', 'content-length: 99999999999999999999999'],
    ['negative', 'content-length: -1'],
    ['hexadecimal', 'content-length: 0x10'],
    ['given twice', 'content-length: 2\r\ncontent-length: 3'],
    ['given with a transfer encoding', 'content-length: 2\r\ntransfer-encoding: chunked'],
  ])('bad input 31: returns 400 for a length that is %s', async (_what, lengths) => {
    const answer = await exchangeBytes(backend.url, `${head('getnfts', JSON_TYPE, lengths)}{}`)
    expect(read(answer)).toEqual({ status: 400, json: FORM_A })
  })

  it('bad input 31: returns 400 for the rest of a body whose length is too small, and executes no request', async () => {
    const body = JSON.stringify(requestOf.createnft?.())
    const answer = await exchangeBytes(backend.url, `${head('createnft', JSON_TYPE, 'content-length: 5')}${body}`)
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).not.toMatch(/HTTP\/1\.1 [25]/)
  })

  it('bad input 31: returns 408 after the request timeout for a length that is too large', async () => {
    const body = JSON.stringify(requestOf.createnft?.())
    const lengths = `content-length: ${body.length + 1}`
    const answer = await exchangeBytes(impatient.url, `${slowHead('createnft', JSON_TYPE, lengths)}${body}`)
    expect(read(answer)).toEqual({ status: 408, json: FORM_A })
  })

  it.each([
    ['not a number', 'zz\r\n{}\r\n0\r\n\r\n'],
    ['too large', `${'f'.repeat(17)}\r\n{}\r\n0\r\n\r\n`],
    ['negative', '-2\r\n{}\r\n0\r\n\r\n'],
  ])('bad input 31: returns 400 for a chunk size that is %s', async (_what, chunks) => {
    const answer = await exchangeBytes(backend.url, head('getnfts', JSON_TYPE, 'transfer-encoding: chunked') + chunks)
    expect(read(answer)).toMatchObject({ status: 400 })
  })

  it.each(['gzip', 'deflate', 'br', 'gzip, gzip, gzip', 'x-unheard-of', 'GZIP'])(
    'bad input 32: returns 415 for a body with content-encoding %s without reading it',
    async (encoding) => {
      for (const name of ['getnfts', 'createnft', 'getpresignedurl'] as const) {
        const headers = [JSON_TYPE, `content-encoding: ${encoding}`, 'content-length: 3', 'connection: close']
        const answer = await exchangeBytes(backend.url, `${head(name, ...headers)}abc`)
        expect(read(answer)).toEqual({ status: 415, json: formOf(name) })
        expect(answer.toLowerCase()).toContain('accept-encoding: identity')
      }
    },
  )

  it('bad input 32: returns 415 for a declared gzip bomb, 400 for an undeclared one, and decompresses neither', async () => {
    const bomb = gzipSync(Buffer.alloc(256 * MIB))
    const before = memoryInUse()
    for (const [headers, status] of [
      [{ 'content-encoding': 'gzip' }, 415],
      [{}, 400],
    ] as const) {
      const response = await fetch(`${backend.url}/api/v1/createnft`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': backend.apiKey.reveal(), ...headers },
        body: bomb,
      })
      expect([response.status, await response.json()]).toEqual([status, FORM_A])
    }
    expect(memoryInUse() - before).toBeLessThan(32)
  })

  it.each([
    ['a body', () => slowHead('createnft', JSON_TYPE, 'content-length: 100000')],
    ['chunks', () => `${slowHead('createnft', JSON_TYPE, 'transfer-encoding: chunked')}ffff\r\n`],
    ['headers', () => slowHead('createnft', 'x-slow: a').slice(0, -4)],
  ])('bad input 33: returns 408 after the request timeout for %s sent byte by byte', async (_what, start) => {
    const { answer, ms } = await streamBytes(impatient.url, start(), { piece: 'x', most: 1000, everyMs: 100 })
    expect(read(answer)).toEqual({ status: 408, json: FORM_A })
    expect(ms).toBeGreaterThan(REQUEST_TIMEOUT_MS * 0.9)
  })

  it('bad input 33: a hundred slow clients do not delay other clients', async () => {
    const slow = Array.from({ length: 100 }, () =>
      streamBytes(impatient.url, slowHead('createnft', JSON_TYPE, 'content-length: 100000'), {
        piece: ' ',
        most: 1000,
        everyMs: 100,
      }),
    )
    expect((await impatient.post('/api/v1/getcollections', { transaction_gdn_ids: [collection.id] })).status).toBe(200)
    for (const { answer } of await Promise.all(slow)) expect(read(answer).status).toBe(408)
  })

  it.each([
    ['a wrong key after a valid one', 'x-api-key: wrong', 401],
    ['a second host', 'host: localhost', 400],
    ['a second content type', 'content-type: text/plain', 400],
    ['a second idempotency key', 'idempotency-key: a\r\nidempotency-key: b', 400],
  ])('bad input 34: rejects %s', async (_what, header, status) => {
    const body = JSON.stringify(requestOf.createnft?.())
    const type = header.startsWith('content-type') ? [header, JSON_TYPE] : [JSON_TYPE, header]
    const bytes = `${head('createnft', ...type, `content-length: ${body.length}`, 'connection: close')}${body}`
    expect(read(await exchangeBytes(backend.url, bytes))).toMatchObject({ status })
  })

  it.each([
    'application/json; charset=utf-7',
    'application/json; charset="latin1"',
    'application/json;charset=',
    'application/jsonp',
    'application/json, text/plain',
    'text/json',
    'application/x-ndjson',
    'application/xml',
    '*/*',
    'json',
  ])('bad input 36: returns 415 for a body of type %s', async (type) => {
    for (const name of ['createnft', 'getpresignedurl'] as const) {
      const answer = await backend.post(ENDPOINTS[name].path, requestOf[name]?.(), { 'content-type': type })
      expect(answer).toMatchObject({ status: 415, json: formOf(name) })
    }
  })

  it.each([
    ['Latin 1', Buffer.from('"caf\u00e9"', 'latin1')],
    ['UTF-16', Buffer.from('{}', 'utf16le')],
    ['overlong', Buffer.from([0x22, 0xc0, 0xaf, 0x22])],
    ['surrogates as UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
  ])(
    'bad input 36: returns 400 for a body that is not UTF-8 (%s), with a length or in chunks',
    async (_what, bytes) => {
      const [before = '', after = ''] = withTitle('HERE').split('HERE')
      const body = Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)])
      const size = body.length.toString(16)
      for (const [headers, sent] of [
        [`content-length: ${body.length}`, [body]],
        ['transfer-encoding: chunked', [Buffer.from(`${size}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')]],
      ] as const) {
        const start = Buffer.from(head('createnft', JSON_TYPE, headers, 'connection: close'))
        const answer = await exchangeBytes(backend.url, Buffer.concat([start, ...sent]))
        expect(read(answer)).toEqual({ status: 400, json: FORM_A })
      }
    },
  )

  it.each([
    [
      'a hundred thousand headers',
      () => head('getnfts', ...Array.from({ length: 100_000 }, (_, i) => `x-${i}: y`)),
      431,
    ],
    ['a header value of 1 MB', () => head('getnfts', `x-a: ${'y'.repeat(MIB)}`), 431],
    ['a header name of 1 MB', () => head('getnfts', `${'x'.repeat(MIB)}: y`), 431],
    ['a path of 1 MB', () => head('getnfts').replace('/api', `/${'p'.repeat(MIB)}`), 431],
    ['a header folded over lines', () => head('getnfts', 'x-a: y', ' z'), 400],
    ['a NUL in a header', () => head('getnfts', 'x-a: y\0z'), 400],
    ['white space before the colon', () => head('getnfts', 'content-length : 2'), 400],
    ['a header after a lone carriage return', () => head('getnfts', 'x-a: y\rx-b: z'), 400],
    ['HTTP/9.9', () => head('getnfts').replace('HTTP/1.1', 'HTTP/9.9'), 400],
    ['a request line of one word', () => 'POST\r\n\r\n', 400],
    ['TLS', () => '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003', 400],
    ['an unknown transfer encoding', () => head('getnfts', JSON_TYPE, 'transfer-encoding: gzip'), 400],
    [
      'an idempotency key of 10,000 characters',
      () =>
        `${head('createnft', JSON_TYPE, `idempotency-key: ${'k'.repeat(10_000)}`, 'content-length: 2', 'connection: close')}{}`,
      400,
    ],
    ['a foreign host name', () => head('getnfts', 'connection: close').replace('localhost', 'evil.example'), 421],
  ])('bad input 38: rejects %s', async (_what, bytesOf, status) => {
    expect(read(await exchangeBytes(backend.url, bytesOf()))).toEqual({ status, json: FORM_A })
  })

  it('bad input 38: closes the connection at garbage among pipelined requests and executes nothing after it', async () => {
    const good = `${head('getnfts', JSON_TYPE, 'content-length: 2')}{}`
    const body = JSON.stringify(requestOf.createnft?.())
    const accepted = `${head('createnft', JSON_TYPE, `content-length: ${body.length}`)}${body}`
    const answer = await exchangeBytes(backend.url, `${good}\0\0\0garbage\r\n\r\n${accepted}`)
    const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
    expect(statuses.at(-1)).toBe('400')
    expect(statuses.slice(0, -1).filter((status) => status !== '422')).toEqual([])
  })

  it('bad input 38: responds to a thousand invalid pipelined requests in order', async () => {
    const requests = Array.from({ length: 1000 }, (_, i) => head('getnfts', 'content-length: 0', `x-request-id: r${i}`))
    const last = head('getnfts', 'content-length: 0', 'connection: close')
    const answer = await exchangeBytes(backend.url, requests.join('') + last)
    const ids = [...answer.matchAll(/x-request-id: (r\d+)/g)].map(([, id]) => id)
    expect(ids).toEqual(requests.map((_, i) => `r${i}`))
  })

  it.each([
    ['no parameters', ''],
    ['a truncated signature', 'cut'],
    ['a second signature', 'doubled'],
    ['an empty signature', 'empty'],
    ['%2e%2e for the issuer', 'dots'],
    ['an expiry of 1e15', 'late'],
    ['a negative expiry', 'negative'],
    ['an expiry of 12,000 digits', 'huge'],
    ['a path with %2e%2e', 'path'],
  ])('bad input 46: rejects a signed URL with %s', async (_what, kind) => {
    const { json } = await backend.post('/api/v1/getpresignedurl', requestOf.getpresignedurl?.())
    const good = new URL(json.response.url)
    const [path, query] = [good.pathname, good.search]
    const broken: Record<string, [string, number]> = {
      '': [path, 400],
      cut: [`${path}${query.slice(0, -1)}`, 403],
      doubled: [`${path}${query}&signature=${good.searchParams.get('signature')}`, 400],
      empty: [`${path}${query.replace(/signature=\w+/, 'signature=')}`, 400],
      dots: [`${path}${query.replace(/issuer=[^&]+/, 'issuer=%2e%2e')}`, 403],
      late: [`${path}${query.replace(/expiry=\d+/, 'expiry=1e15')}`, 400],
      negative: [`${path}${query.replace(/expiry=\d+/, 'expiry=-1')}`, 400],
      huge: [`${path}${query.replace(/expiry=\d+/, `expiry=${'1'.repeat(12_000)}`)}`, 400],
      path: [`/v1/wallet/%2e%2e/wallet/create${query}`, 404],
    }
    const [target = '', status] = broken[kind] ?? []
    const bytes = `POST ${target} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`
    const answer = read(await exchangeBytes(backend.url, bytes))
    expect(answer).toEqual({ status, json: status === 404 ? FORM_A : FORM_B })
  })
})

describe('hostile but legal text is returned unchanged, in a response that no browser treats as a page', () => {
  it.each([
    [26, 'terminal escape sequences', '\u001b[2J\u001b]52;c;aGk=\u0007\u009b31m\r\b\b'],
    [27, 'bidirectional overrides and zero-width characters', 'abc\u202egnp.exe\u200b\u200d\ufeff'],
    [28, 'NFD', 'cafe\u0301'],
    [28, 'NFC', 'caf\u00e9'],
    [29, '1 MB of joined emoji', '👩\u200d👩\u200d👧\u200d👦'.repeat(42_000)],
    [29, 'right-to-left and wide characters', 'שלום عالم 漢字ＡＢＣ'],
    [30, 'markup', `<script>alert(1)</script>"><svg onload=alert(1)>javascript:alert(1)`],
    [30, 'formulas and templates', `=HYPERLINK("http://x") {{7*7}} \${7*7} '; drop table nfts; --`],
  ])('bad input %i: %s', async (_line, _what, title) => {
    const [id = ''] = await mint(backend, collection, { title, description: 'd', file_fields: [] })
    const response = await fetch(`${backend.url}/api/v1/getnfts`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': backend.apiKey.reveal() },
      body: JSON.stringify({ nft_gdn_ids: [id] }),
    })
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    const [nft] = await settled(backend, [id])
    expect(nft?.request_metadata).toMatchObject({ title })
    expect(nft?.status).toBe('deployed')
    const file = await backend.get(`/ipfs/${String(nft?.metadata_url).slice('ipfs://'.length)}`)
    expect(await file.json()).toMatchObject({ name: title })
    expect(file.headers.get('content-type')).toMatch(/^application\/json/)
  })

  it('bad input 44: all lower and all upper case are the same address', async () => {
    const upper = `0x${WALLETS[1].slice(2).toUpperCase()}`
    for (const receiver of [WALLETS[1].toLowerCase(), upper]) {
      const ids = await mint(backend, collection, plainMetadata(1), { receiver })
      expect(await showNfts(backend, ids)).toMatchObject([{ receiver_wallet_address: WALLETS[1] }])
    }
  })
})
