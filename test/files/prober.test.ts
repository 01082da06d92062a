import type { RequestListener } from 'node:http'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { FetchFailure } from '../../src/files/failure.ts'
import { createProber, type Prober } from '../../src/files/prober.ts'
import { type PretendInternet, PUBLIC_V4, pretendInternet } from './pretend-internet.ts'

const PNG = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(5000, 7)])
const HTML = '<!doctype html><title>Not here</title>'
const URL_OF_FILE = 'http://files.example/art.png'
const MAX = 2 ** 20

let internet: PretendInternet
let prober: Prober
beforeEach(async () => {
  internet = await pretendInternet()
  prober = make(60_000)
})
const make = (timeoutMs: number) =>
  createProber({ allowPrivate: false, userAgent: 'gdn/1.2.3', lookup: internet.resolve, maxBytes: MAX, timeoutMs })
afterEach(async () => {
  await prober.close()
  await internet.close()
})

async function failure(url = URL_OF_FILE): Promise<FetchFailure> {
  const error: unknown = await prober.probe(url).then(
    () => new Error(`${url} is fine`),
    (reason: unknown) => reason,
  )
  if (!(error instanceof FetchFailure)) throw error
  return error
}

/** A server that supports range requests. */
const inParts =
  (content: Buffer, more: Record<string, string> = {}): RequestListener =>
  (request, response) => {
    const end = Number(/bytes=0-(\d+)/.exec(request.headers.range ?? '')?.[1])
    const part = content.subarray(0, end + 1)
    const range = `bytes 0-${part.length - 1}/${content.length}`
    response.writeHead(206, { 'content-range': range, 'content-length': part.length, ...more }).end(part)
  }

const redirectTo =
  (location: string): RequestListener =>
  (_, response) =>
    response.writeHead(302, { location }).end()

test('one small range request shows that a file is available', async () => {
  internet.answer = inParts(PNG)
  await prober.probe(URL_OF_FILE)
  expect(internet.requests.map(({ method, headers }) => [method, headers.range])).toEqual([['GET', 'bytes=0-16383']])
})

test('reads only as much as needed from a server without range requests', async () => {
  let sent = 0
  internet.answer = (_, response) => {
    response.writeHead(200, { 'content-type': 'image/png', 'content-length': MAX })
    const more = () => {
      sent += PNG.length
      if (!response.destroyed && sent < MAX) response.write(PNG, () => setTimeout(more, 1))
    }
    more()
  }
  await prober.probe(URL_OF_FILE)
  expect(sent).toBeLessThan(MAX / 2)
})

test('requests the whole file if a part cannot be read', async () => {
  internet.answer = (request, response) => {
    if (request.headers.range === undefined) response.end(PNG)
    else response.writeHead(206, { 'content-encoding': 'gzip' }).end(gzipSync(PNG).subarray(0, 20))
  }
  await prober.probe(URL_OF_FILE)
  internet.answer = (request, response) => response.writeHead(request.headers.range === undefined ? 200 : 416).end()
  expect(await failure()).toMatchObject({ message: `${URL_OF_FILE} returned an empty file`, isLasting: true })
})

const lasting: [string, RequestListener][] = [
  ['returned 404 Not Found', (_, response) => response.writeHead(404).end()],
  ['returned 204 without a file', (_, response) => response.writeHead(204).end()],
  ['returned an HTML page, not a file', inParts(Buffer.from(HTML), { 'content-type': 'image/png' })],
  ['returned an HTML page, not a file', inParts(PNG, { 'content-type': 'text/html' })],
  ['returned an empty file', (_, response) => response.end()],
  ['is larger than 1 MiB', inParts(Buffer.concat([PNG, Buffer.alloc(MAX)]))],
  ['is larger than 1 MiB', (_, response) => response.writeHead(200, { 'content-length': MAX + 1 }).write(PNG)],
  ['redirects in a loop', redirectTo('/art.png')],
  [
    'redirects to http://169.254.169.254/, which resolves to a cloud metadata address (169.254.169.254)',
    redirectTo('http://169.254.169.254/'),
  ],
  ['redirects to file:///etc/passwd, which is neither http nor https', redirectTo('file:///etc/passwd')],
]
test.each(lasting)('fails permanently if it %s', async (reason, answer) => {
  internet.answer = answer
  expect(await failure()).toMatchObject({ message: `${URL_OF_FILE} ${reason}`, isLasting: true })
  expect(internet.reachedInside).toEqual([])
})

test.each([
  '[::ffff:7f00:1]',
  '[2002:7f00:1::]',
  '[64:ff9b::7f00:1]',
  '0',
  '0177.1',
  '2130706433',
  '127.1',
  'localhost',
  'files.example.',
  'files.example:6379',
])('rejects the address or port of http://%s/ and sends nothing', async (host) => {
  expect(await failure(`http://${host}/`)).toMatchObject({ isLasting: true, isPrivate: true })
  expect(internet.reachedInside).toEqual([])
  expect(internet.requests).toEqual([])
})

test('does not connect to a host that becomes private after the first request', async () => {
  internet.hosts['turns.example'] = [[PUBLIC_V4], ['127.0.0.1']]
  internet.answer = (_, response) => response.setHeader('connection', 'close').end(PNG)
  await prober.probe('http://turns.example/a')
  expect(await failure('http://turns.example/b')).toMatchObject({ isLasting: true, isPrivate: true })
  expect(internet.reachedInside).toEqual([])
})

test('fails temporarily for a busy server, with its delay, a silent one, and an unknown host', async () => {
  internet.answer = (_, response) => response.writeHead(503, { 'retry-after': '7' }).end()
  expect(await failure()).toMatchObject({ isLasting: false, retryAfterMs: 7000 })
  expect(await failure('http://nowhere.example/')).toMatchObject({ isLasting: false })
  await prober.close()
  prober = make(400)
  internet.answer = () => {}
  expect(await failure()).toMatchObject({ isLasting: false, message: `${URL_OF_FILE} took longer than 0.4 s` })
})
