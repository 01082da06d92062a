/** @module-tag slow */
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { listen } from '../../../src/server/http/listen.ts'
import { startTestBackend, type TestBackend, temporaryDataDir } from '../../helpers/backend.ts'
import { appWithRoutes } from '../../helpers/routes.ts'

let dataDir: string
let backend: TestBackend
const sockets: Socket[] = []

beforeEach(async () => {
  dataDir = await temporaryDataDir()
})
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await backend?.close()
})

const start = async (drainMs: number) => {
  backend = await startTestBackend(dataDir, { drainMs })
}

/** A connection that is held open, and the bytes received on it. */
async function hold(
  url = backend.url,
): Promise<{ send(text: string): Promise<void>; heard(): string; closed: Promise<unknown> }> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  sockets.push(socket)
  let heard = ''
  socket.setEncoding('latin1').on('data', (text) => {
    heard += text
  })
  socket.on('error', () => {})
  const closed = once(socket, 'close')
  await once(socket, 'connect')
  return { send: async (text) => void socket.write(text), heard: () => heard, closed }
}

/** Longer than the timeout of a test, so that nothing can wait for its end. */
const LONG_MS = 3_600_000

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`
const body = JSON.stringify({ nft_gdn_ids: ['x'] })

/** Sends headers and the first half of a body; resolves once the server has begun with the request. */
async function sendHalf(client: Awaited<ReturnType<typeof hold>>): Promise<void> {
  await client.send(half())
  await expect.poll(() => client.heard()).toBe(CONTINUE)
}

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
const half = () =>
  `POST /api/v1/getnfts HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${backend.apiKey.reveal()}\r\n` +
  // As clients that accept either send it.
  `accept: application/json, text/event-stream\r\n` +
  `expect: 100-continue\r\n` +
  `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, 5)}`

it('while draining, /readyz returns 503, requests are served, and each response closes its connection', async () => {
  await start(LONG_MS)
  const enough = new AbortController()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = (path: string) =>
    new Promise<[number | undefined, string | undefined, string]>((resolve, reject) => {
      request(backend.url + path, { agent }, async (answer) => {
        const { statusCode, headers } = answer
        let text = ''
        for await (const part of answer) text += part
        resolve([statusCode, headers.connection, text])
      })
        .on('error', reject)
        .end()
    })
  expect((await ask('/readyz')).slice(0, 2)).toEqual([200, 'keep-alive'])
  const draining = backend.drain(enough.signal)
  const [status, connection, text] = await ask('/readyz')
  expect([status, connection, JSON.parse(text)]).toEqual([
    503,
    'close',
    { ready: false, problems: ['this process is stopping'], warnings: [] },
  ])
  expect((await ask('/healthz')).slice(0, 2)).toEqual([200, 'close'])
  expect((await ask('/nowhere')).slice(0, 2)).toEqual([404, 'close'])
  enough.abort()
  await draining
  agent.destroy()
})

it('finishes a request that began before the shutdown while it rejects new connections', async () => {
  await start(LONG_MS)
  const client = await hold()
  await sendHalf(client)
  const idle = await hold()
  await idle.send(get('/healthz'))
  await expect.poll(() => idle.heard()).toContain('200 OK')
  const closed = backend.close()
  await idle.closed
  await expect(fetch(`${backend.url}/healthz`)).rejects.toThrow()
  await client.send(body.slice(5))
  await closed
  await client.closed
  expect(client.heard().slice(CONTINUE.length)).toMatch(
    /^HTTP\/1\.1 200 OK\r\n[\s\S]*connection: close\r\n[\s\S]*"nfts":\[\]/i,
  )
})

it('an unfinished request delays the shutdown by at most 3 seconds', async () => {
  await start(0)
  const client = await hold()
  await sendHalf(client)
  const since = performance.now()
  await backend.close()
  expect(performance.now() - since).toBeGreaterThan(2900)
})

it('ends an event stream and its connection at once when the server stops', async () => {
  const app = await appWithRoutes()
  app.get('/events', { config: { access: 'public' } }, (_request, reply) => {
    const events = new Readable({ read() {} })
    events.push('data: first\n\n')
    return reply.type('text/event-stream; charset=utf-8').send(events)
  })
  const { url } = await listen(app, { host: '127.0.0.1', port: 0, scheme: 'http' })
  const client = await hold(url)
  await client.send('GET /events HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n')
  await expect.poll(() => client.heard()).toContain('data: first')
  await app.draining.finish(LONG_MS)
  // The stream is complete: the last chunk arrived.
  expect(client.heard()).toMatch(/\r\n0\r\n\r\n$/)
  await client.closed
  await app.close()
})

it('a second signal ends the draining at once', async () => {
  await start(LONG_MS)
  const enough = new AbortController()
  const draining = backend.drain(enough.signal)
  enough.abort()
  await draining
  await backend.close()
})
