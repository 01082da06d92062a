/** @module-tag slow */
import { connect } from 'node:net'
import { beforeAll, expect, it } from 'vitest'
import { backendForFile, type TestBackend } from '../../helpers/backend.ts'
import { memoryInUse } from '../../helpers/hostile.ts'
import { mutate } from '../../helpers/mutate.ts'
import { report, seededRandom } from '../../helpers/seed.ts'

const CASES = process.env.GDN_SOAK === '1' ? 1_000_000 : 3000
const AT_ONCE = 40
/** The sending side is closed at once, so only the request timeout can delay a response. */
const HANG_MS = 20_000

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile({ requestTimeoutMs: 2000, logLevel: 'error' })
})

function seeds(): string[] {
  const key = `x-api-key: ${backend.apiKey.reveal()}`
  const request = (line: string, headers: readonly string[], body = '') =>
    [`${line} HTTP/1.1`, 'Host: localhost', ...headers, '', body].join('\r\n')
  const json = (path: string, body: object, ...headers: string[]) => {
    const text = JSON.stringify(body)
    const headerLines = [key, 'Content-Type: application/json', `Content-Length: ${text.length}`, ...headers]
    return request(`POST ${path}`, headerLines, text)
  }
  const form =
    '--b\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\nContent-Type: image/png\r\n\r\nPNG\r\n--b--\r\n'
  const metadata = { title: 't', description: 'd', file_fields: [{ key: 'image', url: 'https://files.example/a.png' }] }
  return [
    json('/api/v1/getnfts', { nft_gdn_ids: ['a', 'b'] }),
    json('/api/v1/getcollections/', { transaction_gdn_ids: ['x'] }, 'X-Request-Id: abc', 'Connection: close'),
    json(
      '/api/v1/createnft',
      {
        contract_address: `0x${'1'.repeat(40)}`,
        blockchain: 'polygon',
        receiver_wallet_address: `0x${'2'.repeat(40)}`,
        metadata,
      },
      'Idempotency-Key: k',
    ),
    json('/api/v1/getpresignedurl', { email: 'a@example.com', timeout: 5 }),
    json('/api/v1/getpresignedurl', {}),
    request('POST /api/v1/getnfts', ['x-api-key: gdn_wrong', 'Content-Type: application/json', 'Content-Length: 0']),
    request('POST /api/v1/getnfts', [key, 'Content-Type: text/plain', 'Content-Length: 1'], 'x'),
    request('POST /api/v1/nothing', [key, 'Content-Length: 0']),
    json('/rpc/polygon', [
      { jsonrpc: '2.0', id: 1, method: 'eth_call', params: [{ to: `0x${'1'.repeat(40)}`, data: '0x' }, 'latest'] },
    ]),
    json('/rpc/polygon', { jsonrpc: '2.0', id: 1, method: 'eth_sendRawTransaction', params: ['0x02f8'] }),
    request(
      'POST /api/v1/getnfts',
      [key, 'Content-Type: application/json', 'Transfer-Encoding: chunked'],
      '5\r\n{"a":\r\n2;x=y\r\n1}\r\n0\r\nX-Trailer: y\r\n\r\n',
    ),
    request('POST /v1/wallet/create?expiry=1&issued_at=1&action=generate_wallet&issuer=a%40b&signature=00', [
      'Content-Length: 0',
    ]),
    request(
      'POST /api/v1/files',
      [key, 'Content-Type: multipart/form-data; boundary=b', `Content-Length: ${form.length}`],
      form,
    ),
    request('GET /ipfs/bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4/0.json', [
      'Range: bytes=0-5',
      'If-None-Match: "x"',
    ]),
    request('GET /docs/page.js?x=%41', ['Accept-Encoding: gzip', 'Origin: https://a.example']),
    request('OPTIONS /api/v1/getnfts', ['Origin: https://a.example', 'Access-Control-Request-Method: POST']),
    request('HEAD /metrics', ['Expect: 100-continue', 'Upgrade: websocket', 'Connection: Upgrade']),
  ]
}

/** The statuses of the responses to bytes; null if the connection stays open for too long. */
function send(port: number, bytes: Buffer): Promise<number[] | null> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect({ host: '127.0.0.1', port })
    const timer = setTimeout(() => {
      socket.destroy()
      resolve(null)
    }, HANG_MS)
    socket.setEncoding('latin1').on('data', (text) => {
      answer += text
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(timer)
      resolve([...answer.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status)))
    })
    socket.end(bytes)
  })
}

it('any bytes get an error or the response of a valid request, without an internal error or a hang', async () => {
  const { random } = seededRandom('HTTP bytes')
  const port = Number(new URL(backend.url).port)
  const originals = seeds()
  const unchanged = originals.map((text) => Buffer.from(text, 'latin1'))
  const statuses = new Map<number, number>()
  const before = memoryInUse()
  const since = performance.now()
  let left = CASES
  let unanswered = 0
  const worker = async () => {
    while (left-- > 0) {
      if (left > 0 && left % 100_000 === 0) report({ 'HTTP requests of bytes left': left })
      const bytes = unchanged.shift() ?? mutate(random, originals)
      const answers = await send(port, bytes)
      if (answers === null) throw new Error(`the connection hangs after ${JSON.stringify(bytes.toString('latin1'))}`)
      if (answers.length === 0) unanswered++
      for (const status of answers) {
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        if (status >= 500)
          throw new Error(`${status} to ${JSON.stringify(bytes.toString('latin1'))}: ${backend.log.at(-1)}`)
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  const seconds = (performance.now() - since) / 1000
  const grown = Math.round(memoryInUse() - before)
  report({
    'HTTP requests of bytes': CASES,
    'a second': Math.round(CASES / seconds),
    statuses: Object.fromEntries([...statuses].sort()),
    unanswered,
    'MiB grown': grown,
  })
  expect(backend.log).toEqual([])
  expect((await backend.get('/healthz')).status).toBe(200)
  expect(grown).toBeLessThan(64)
  // Every kind of outcome occurred, at least for the unchanged requests.
  for (const status of [200, 400, 401, 404, 415, 422]) expect([status, statuses.has(status)]).toEqual([status, true])
})
