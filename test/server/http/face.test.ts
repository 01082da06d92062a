/** @module-tag slow */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  backendForFile,
  createTestCollection,
  exchangeBytes,
  mint,
  plainMetadata,
  settled,
  type TestBackend,
  WALLETS,
} from '../../helpers/backend.ts'
import { rowCounts } from '../../helpers/hostile.ts'

let backend: TestBackend
let directory = ''
let secrets: string[]

beforeAll(async () => {
  backend = await backendForFile({ requestTimeoutMs: 5000 })
  const [nft] = await settled(backend, await mint(backend, await createTestCollection(backend), plainMetadata(1)))
  directory = String(nft?.metadata_url).replace('ipfs://', '').replace(/\/.*$/, '')
  const secret = await readFile(join(backend.dataDir, 'url-secret'), 'utf8')
  secrets = [backend.apiKey.reveal(), secret.trim(), 'root:x:', '"devDependencies"', 'SQLite format 3']
})

/** After each test, the log has no internal error. */
afterEach(async () => {
  expect((await backend.get('/healthz')).status).toBe(200)
  expect(backend.log.filter((line) => line.includes('unexpectedly'))).toEqual([])
})

const raw = (method: string, target: string, ...headers: string[]) =>
  exchangeBytes(
    backend.url,
    [`${method} ${target} HTTP/1.1`, 'host: localhost', 'connection: close', ...headers, '', ''].join('\r\n'),
  )
const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0)
const headersOf = (answer: string) =>
  new Map(
    (answer.split('\r\n\r\n')[0] ?? '')
      .split('\r\n')
      .slice(1)
      .map((line): [string, string] => {
        const at = line.indexOf(':')
        return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()]
      }),
  )

describe('every response has the security headers', () => {
  const key = () => `x-api-key: ${backend.apiKey.reveal()}`
  const json = 'content-type: application/json'
  const PREFLIGHT = 'access-control-request-method: POST'
  const answers: [what: string, status: number, ask: () => Promise<string>][] = [
    ['a page', 200, () => raw('GET', '/docs')],
    ['its script', 200, () => raw('GET', '/docs/page.js')],
    ['health', 200, () => raw('GET', '/healthz')],
    ['metrics', 200, () => raw('GET', '/metrics')],
    ['the contract', 200, () => raw('GET', '/openapi.json')],
    ['a stored directory', 200, () => raw('GET', `/ipfs/${directory}`)],
    ['a stored file', 200, () => raw('GET', `/ipfs/${directory}/0.json`)],
    ['a HEAD request for it', 200, () => raw('HEAD', `/ipfs/${directory}/0.json`)],
    ['a range of it', 206, () => raw('GET', `/ipfs/${directory}/0.json`, 'range: bytes=0-1')],
    ['a range beyond its end', 416, () => raw('GET', `/ipfs/${directory}/0.json`, 'range: bytes=99999-')],
    ['a missing file', 404, () => raw('GET', '/ipfs/bafkqaaa')],
    ['a missing path', 404, () => raw('GET', '/nowhere')],
    ['a wrong method', 404, () => raw('DELETE', '/healthz')],
    ['a path that cannot be decoded', 400, () => raw('GET', '/%zz')],
    ['no key', 401, () => raw('POST', '/api/v1/getnfts', json, 'content-length: 0')],
    ['a body that is not JSON', 422, () => raw('POST', '/api/v1/getnfts', json, key(), 'content-length: 0')],
    [
      'another content type',
      415,
      () => raw('POST', '/api/v1/getnfts', 'content-type: a/b', key(), 'content-length: 1', '', 'x'),
    ],
    ['a chain', 415, () => raw('POST', '/rpc/polygon', 'content-length: 0', 'content-type: text/plain')],
    ['a wallet', 400, () => raw('POST', '/v1/wallet/create', 'content-length: 0')],
    ['a preflight', 204, () => raw('OPTIONS', '/api/v1/getnfts', 'origin: https://a.example', PREFLIGHT)],
    [
      'another host',
      421,
      () => exchangeBytes(backend.url, 'GET / HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\n\r\n'),
    ],
    ['garbage', 400, () => exchangeBytes(backend.url, 'garbage\r\n\r\n')],
    ['headers that are too large', 431, () => raw('GET', '/', `x-a: ${'y'.repeat(100_000)}`)],
    ['half a request', 408, () => exchangeBytes(backend.url, 'GET / HTTP/1.1\r\nhost: loc')],
  ]

  it.each(answers)('%s (%i)', async (_what, status, ask) => {
    const answer = await ask()
    const headers = headersOf(answer)
    expect(statusOf(answer)).toBe(status)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('content-security-policy')).toMatch(/default-src 'none'/)
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('cross-origin-resource-policy')).toMatch(/^(same-origin|cross-origin)$/)
    expect(headers.has('cache-control')).toBe(true)
    // Headers that name the software or set cookies.
    for (const name of ['server', 'x-powered-by', 'set-cookie'])
      expect([name, headers.has(name)]).toEqual([name, false])
  })

  it('responses with a key or a wallet forbid caching', async () => {
    const { headers } = await backend.post('/api/v1/getpresignedurl', { email: 'a@example.com' })
    expect(headers.get('cache-control')).toBe('no-store')
  })
})

describe('no path serves a file outside the served directories', () => {
  const up = ['..', '%2e%2e', '.%2e', '%2E.', '..%00', '%252e%252e', '..%c0%af', '..%ef%bc%8f', '%c0%ae%c0%ae']
  const slashes = ['/', '%2f', '%5c', '\\', '//', '/./']
  const targets = ['etc/passwd', 'api-key', 'url-secret', 'gdn.db', 'package.json']
  const paths = [
    ...['/ipfs', '/docs'].flatMap((base) =>
      up.flatMap((dots) => slashes.flatMap((slash) => targets.map((to) => `${base}/${(dots + slash).repeat(4)}${to}`))),
    ),
    '/ipfs//etc/passwd',
    '/ipfs/%2fetc%2fpasswd',
    '/ipfs/file:///etc/passwd',
    '/docs/%2fetc%2fpasswd',
    '/docs/__proto__',
    '/docs/constructor',
    '/docs/page.js%00.css',
    '/docs/../../package.json',
    '/..',
    '/../../../../etc/passwd',
    '//etc/passwd',
    'http://localhost/ipfs/../../etc/passwd',
    'file:///etc/passwd',
  ]

  it(`returns 400 or 404 for ${paths.length} spellings of .. and for those below a stored directory`, async () => {
    const below = up.flatMap((dots) =>
      slashes.map((slash) => `/ipfs/${directory}/${(dots + slash).repeat(6)}url-secret`),
    )
    const left = [...paths, ...below]
    const some = async () => {
      for (let path = left.pop(); path !== undefined; path = left.pop()) {
        const answer = await raw('GET', path)
        expect([path, [400, 404]]).toEqual([path, expect.arrayContaining([statusOf(answer)])])
        for (const secret of secrets) expect([path, answer.includes(secret)]).toEqual([path, false])
      }
    }
    await Promise.all(Array.from({ length: 20 }, some))
  })
})

describe('a request that two parsers could read differently is rejected', () => {
  let rows: Record<string, number>
  beforeEach(async () => {
    rows = await rowCounts(backend.dataDir)
  })

  const body = JSON.stringify({ wallet_address: WALLETS[0], name: 'Smuggled', blockchain: 'polygon' })
  const key = () => `x-api-key: ${backend.apiKey.reveal()}`
  /** A request that must not be executed. */
  const hidden = () =>
    `POST /api/v1/createcollection HTTP/1.1\r\nhost: localhost\r\n${key()}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  const asChunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`

  const outer: [what: string, head: string, body: (hidden: string) => string][] = [
    ['a length and chunks', 'content-length: 5\r\ntransfer-encoding: chunked', (inner) => `0\r\n\r\n${inner}`],
    ['chunks and a length', 'transfer-encoding: chunked\r\ncontent-length: 5', (inner) => `0\r\n\r\n${inner}`],
    ['two lengths', 'content-length: 0\r\ncontent-length: 500', (inner) => inner],
    ['two equal lengths', 'content-length: 2\r\ncontent-length: 2', (inner) => `{}${inner}`],
    ['a list of lengths', 'content-length: 2, 2', (inner) => `{}${inner}`],
    ['a signed length', 'content-length: +2', (inner) => `{}${inner}`],
    ['a length in hex', 'content-length: 0x2', (inner) => `{}${inner}`],
    ['a length with an underscore', 'content-length: 1_0', (inner) => `{}${inner}`],
    ['a length and a NUL', 'content-length: 2\0', (inner) => `{}${inner}`],
    ['chunks twice', 'transfer-encoding: chunked, chunked', (inner) => `0\r\n\r\n${inner}`],
    ['chunks in two headers', 'transfer-encoding: chunked\r\ntransfer-encoding: identity', (i) => `0\r\n\r\n${i}`],
    ['an encoding named xchunked', 'transfer-encoding: xchunked', (inner) => `0\r\n\r\n${inner}`],
    ['chunks after a vertical tab', 'transfer-encoding: \x0bchunked', (inner) => `0\r\n\r\n${inner}`],
    ['chunks in quotes', 'transfer-encoding: "chunked"', (inner) => `0\r\n\r\n${inner}`],
    ['a space before the colon', 'transfer-encoding : chunked', (inner) => `0\r\n\r\n${inner}`],
    ['a tab before the colon', 'content-length\t: 500', (inner) => inner],
    ['a folded header', 'x-a: b\r\n transfer-encoding: chunked', (inner) => `0\r\n\r\n${inner}`],
    ['a lone carriage return', 'x-a: b\rtransfer-encoding: chunked', (inner) => `0\r\n\r\n${inner}`],
    ['a lone line feed', 'x-a: b\ntransfer-encoding: chunked\nx-b: c', (inner) => `zz\r\n\r\n${inner}`],
    ['a chunk size with a sign', 'transfer-encoding: chunked', (inner) => `+2\r\n{}\r\n0\r\n\r\n${inner}`],
    ['a chunk size with 0x', 'transfer-encoding: chunked', (inner) => `0x2\r\n{}\r\n0\r\n\r\n${inner}`],
    ['a chunk size after a space', 'transfer-encoding: chunked', (inner) => ` 2\r\n{}\r\n0\r\n\r\n${inner}`],
    ['a chunk longer than its size', 'transfer-encoding: chunked', (inner) => `1\r\n{}\r\n0\r\n\r\n${inner}`],
    ['a chunk that ends in a line feed', 'transfer-encoding: chunked', (inner) => `2\n{}\r\n0\r\n\r\n${inner}`],
    [
      'a chunk size that overflows',
      'transfer-encoding: chunked',
      (i) => `${'0'.repeat(20)}fffffffffffffffff\r\n{}${i}`,
    ],
  ]

  it.each(outer)('%s', async (_what, head, bodyOf) => {
    for (const target of ['/api/v1/getnfts', '/rpc/polygon', '/healthz', '/v1/wallet/create']) {
      const start = `POST ${target} HTTP/1.1\r\nhost: localhost\r\n${key()}\r\ncontent-type: application/json\r\n${head}\r\n\r\n`
      const answer = await exchangeBytes(backend.url, start + bodyOf(hidden()))
      const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))
      // The server closes the connection, so the bytes after it are not read as a request.
      expect([target, statuses.at(-1)]).toEqual([target, 400])
      expect(answer.toLowerCase()).toContain('connection: close')
    }
    expect(await rowCounts(backend.dataDir)).toEqual(rows)
  })

  it('a request inside the body of another is read as its body', async () => {
    const inner = hidden()
    for (const [head, text] of [
      [`content-length: ${inner.length}`, inner],
      ['transfer-encoding: chunked', asChunk(inner)],
    ] as const) {
      const start = `POST /api/v1/getnfts HTTP/1.1\r\nhost: localhost\r\n${key()}\r\ncontent-type: application/json\r\nconnection: close\r\n${head}\r\n\r\n`
      const answer = await exchangeBytes(backend.url, start + text)
      expect([...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['422'])
    }
    expect(await rowCounts(backend.dataDir)).toEqual(rows)
  })

  it('no request is executed after an invalid one', async () => {
    for (const first of [
      'GET / HTTP/2.0',
      'PRI * HTTP/2.0',
      'GET /\x00 HTTP/1.1',
      'GET\t/ HTTP/1.1',
      'CONNECT a:1 HTTP/1.1',
    ]) {
      await exchangeBytes(backend.url, `${first}\r\nhost: localhost\r\n\r\n${hidden()}`)
    }
    expect(await rowCounts(backend.dataDir)).toEqual(rows)
  })
})

describe('/rpc rejects methods that change a chain in every spelling', () => {
  const cheats = [
    'anvil_setBalance',
    'evm_mine',
    'hardhat_setCode',
    'debug_traceCall',
    'personal_sign',
    'eth_sendTransaction',
  ]
  const spellings = (method: string) => [
    method,
    method.toUpperCase(),
    method.replace(/^./, (first) => first.toUpperCase()),
    ` ${method}`,
    `${method} `,
    `${method}\0`,
    `${method}\n`,
    `\ufeff${method}`,
    method.replace('_', '.'),
    method.replace('e', '\u0435'),
    `eth_call\0${method}`,
    `eth_call,${method}`,
    `eth_call;${method}`,
  ]

  it.each(cheats)('%s', async (method) => {
    for (const spelled of spellings(method)) {
      const call = { jsonrpc: '2.0', id: 1, method: spelled, params: [WALLETS[0], '0x1'] }
      const alone = await backend.post('/rpc/polygon', call, { 'x-api-key': '' })
      expect(alone.json.error.code).toBe(-32601)
      const chainId = { ...call, method: 'eth_chainId', params: [] }
      const { json } = await backend.post('/rpc/polygon', [chainId, call, chainId], { 'x-api-key': '' })
      expect(json.map(({ error }: { error?: { code: number } }) => error?.code)).toEqual([undefined, -32601, undefined])
    }
    // The method with escapes, as a duplicate key, in a nested list, and as another type.
    const escaped = method.replace(/./g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
    const bodies = [
      `{"jsonrpc":"2.0","id":1,"method":"${escaped}","params":[]}`,
      `{"jsonrpc":"2.0","id":1,"method":"eth_chainId","method":"${method}","params":[]}`,
      `[[{"jsonrpc":"2.0","id":1,"method":"${method}","params":[]}]]`,
      `{"jsonrpc":"2.0","id":1,"method":["${method}"],"params":[]}`,
      `{"jsonrpc":"2.0","id":1,"method":{"toString":"${method}"},"params":[]}`,
      `{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[],"__proto__":{"method":"${method}"}}`,
    ]
    for (const text of bodies) {
      const { status, json } = await backend.post('/rpc/polygon', text, { 'x-api-key': '' })
      const replies: { result?: unknown }[] = [json].flat()
      expect([text, status === 400 || replies.every(({ result }) => result === undefined)]).toEqual([text, true])
    }
  })
})
