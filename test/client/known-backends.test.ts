import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { createTransport } from '../../src/client/create-transport.ts'
import { KnownBackends } from '../../src/client/known-backends.ts'
import type { Transport } from '../../src/client/transport.ts'
import { Secret } from '../../src/core/secret.ts'

const A = '11111111-1111-4111-8111-111111111111'
const B = '22222222-2222-4222-8222-222222222222'
const FIRST = '33333333-3333-4333-8333-333333333333'
const SECOND = '44444444-4444-4444-8444-444444444444'

let url: string
let answer: RequestListener
let seen: string[]
let keys: unknown[]
let transport: Transport
let server: Server
let close: () => Promise<void>
beforeEach(async () => {
  seen = []
  keys = []
  server = createServer((request, response) => {
    seen.push(request.url ?? '')
    keys.push(request.headers['x-api-key'])
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  transport = await createTransport('single')
  close = () =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
})
afterEach(async () => {
  await transport.close()
  await close()
})

const { signal } = new AbortController()
const once = { how: 'once', signal } as const
const identify = (known = new KnownBackends('gdn/test')) => known.identify(transport, url, once)

/** Returns a body at /healthz, and responds to any other path as a backend does. */
const as =
  (id: string, incarnation = FIRST): RequestListener =>
  (request, response) => {
    response.setHeader('content-type', 'application/json')
    response.setHeader('gdn-backend-id', id)
    response.setHeader('gdn-incarnation', incarnation)
    const health = { status: 'ok', backend_id: id, incarnation }
    response.end(JSON.stringify(request.url === '/healthz' ? health : { requests: { nft_gdn_ids: [] }, nfts: [] }))
  }

const says =
  (status: number, body: string): RequestListener =>
  (_request, response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)

describe('identify', () => {
  test('sends one request without a key, and returns ID and incarnation', async () => {
    answer = as(A)
    const known = new KnownBackends('gdn/test')
    expect(await identify(known)).toEqual({ id: A, incarnation: FIRST })
    expect(await identify(known)).toEqual({ id: A, incarnation: FIRST })
    expect([seen, keys]).toEqual([['/healthz'], [undefined]])
  })

  test.each([
    ['no such path', 404, '{"error":{"title":"Not Found","message":"no"}}'],
    ['a page', 200, '<html>welcome</html>'],
    ['a health check without an ID', 200, '{"status":"ok","version":"0.1.0"}'],
    ['a list', 200, '[1]'],
    ['null', 200, 'null'],
  ])('treats %s as a server without an ID', async (_, status, body) => {
    answer = says(status, body)
    expect(await identify()).toEqual({ id: null, incarnation: null })
  })

  test.each([
    ['text', '"\\u001b[31mred"'],
    ['a number', '1'],
    ['no incarnation', `"${A}","incarnation":null`],
    ['a megabyte', `"${'a'.repeat(500_000)}"`],
  ])('rejects %s as an ID, and escapes it for a terminal', async (_, id) => {
    answer = says(200, `{"backend_id":${id}}`)
    await expect(identify()).rejects.toMatchObject({
      code: 'bad_answer',
      message: expect.not.stringContaining('\u001b'),
    })
  })

  test.each([
    ['an error of a proxy', says(502, '<html>away</html>')],
    ['a timeout of a proxy', says(408, '<html>too slow</html>')],
    ['too many requests', says(429, '{"error":{"title":"Too Many Requests","message":"wait"}}')],
    [
      'a response that never ends',
      ((_request, response) => void response.write('a'.repeat(2 ** 21))) as RequestListener,
    ],
  ])('is unreachable after %s', async (_, listener) => {
    answer = listener
    await expect(identify()).rejects.toMatchObject({ code: 'unreachable' })
  })
})

describe('a guarded transport', () => {
  let now = 0
  async function guarded() {
    now = 0
    const known = new KnownBackends('gdn/test', () => now)
    answer = as(A)
    await identify(known)
    const guard = known.guard(transport, url)
    const client = createClient({
      baseUrl: url,
      apiKey: new Secret('gdn_key'),
      transport: guard,
      userAgent: 'gdn/test',
    })
    return { client, ask: () => client.call('getnfts', { nft_gdn_ids: [A] }) }
  }

  test('does not check again while responses come from the same backend', async () => {
    const { ask } = await guarded()
    await ask()
    now += 5000
    await ask()
    expect(seen.filter((path) => path === '/healthz')).toHaveLength(1)
  })

  test('sends neither key nor request to another backend that takes over the address during a pause', async () => {
    const { client, ask } = await guarded()
    await ask()
    answer = as(B)
    now += 60_000
    keys.length = 0
    await expect(ask()).rejects.toMatchObject({ code: 'wrong_backend', message: expect.stringContaining(B) })
    const body = new TextEncoder().encode('{}')
    const sent = await client.send('createnft', body, { idempotencyKey: 'k' })
    expect(sent).toMatchObject({ kind: 'not_sent', stop: { code: 'wrong_backend' } })
    expect(seen.filter((path) => path.endsWith('createnft'))).toEqual([])
    expect(new Set(keys)).toEqual(new Set([undefined]))
  })

  test('checks again after a request that failed', async () => {
    const { client, ask } = await guarded()
    await ask()
    const body = new TextEncoder().encode('{}')
    answer = (_request, response) => response.destroy()
    expect(await client.send('createnft', body, { idempotencyKey: 'k' })).toMatchObject({ kind: 'cut' })
    answer = as(B)
    expect(await client.send('createnft', body, { idempotencyKey: 'k' })).toMatchObject({
      stop: { code: 'wrong_backend' },
    })
    expect(seen.filter((path) => path.endsWith('createnft'))).toHaveLength(1)
  })

  test('rejects a response from another backend, and stops if the backend was restored in the meantime', async () => {
    const { ask } = await guarded()
    answer = as(B)
    await expect(ask()).rejects.toMatchObject({ code: 'wrong_backend', exitCode: 2 })
    const restored = await guarded()
    answer = as(A, SECOND)
    await expect(restored.ask()).rejects.toMatchObject({ code: 'backend_restored', exitCode: 8 })
  })

  test.each(['single', 'bulk'] as const)(
    'sends neither key nor request to another local backend that takes over the port at once (%s)',
    async (kind) => {
      answer = as(A)
      const known = new KnownBackends('gdn/test')
      await identify(known)
      const own = await createTransport(kind)
      const guard = known.guard(own, url, { isLocal: true })
      const client = createClient({
        ...{ baseUrl: url, apiKey: new Secret('gdn_key'), transport: guard, userAgent: 'gdn/test' },
      })
      const ask = () => client.call('getnfts', { nft_gdn_ids: [A] })
      try {
        await ask()
        await ask()
        expect(seen.filter((path) => path === '/healthz')).toHaveLength(2)
        // As when its process ends: idle connections are closed, and no request is cut.
        const ended = new Promise<void>((resolve) => own.onDisconnect?.(resolve))
        server.closeAllConnections()
        await ended
        answer = as(B)
        keys.length = 0
        await expect(ask()).rejects.toMatchObject({ code: 'wrong_backend' })
        expect(new Set(keys)).toEqual(new Set([undefined]))
      } finally {
        await own.close()
      }
    },
  )

  test('sends nothing to another local backend that takes over the port before the first request', async () => {
    answer = as(A)
    const known = new KnownBackends('gdn/test')
    await identify(known)
    answer = as(B)
    keys.length = 0
    const guard = known.guard(transport, url, { isLocal: true })
    const headers = { 'x-api-key': 'gdn_key' }
    const request = { method: 'POST', url: `${url}/api/v1/createnft`, headers, timeoutMs: 1000 } as const
    const attempts = await Promise.allSettled([guard.request(request), guard.request(request)])
    for (const { reason } of attempts as PromiseRejectedResult[]) {
      expect(reason).toMatchObject({ sent: false, cause: { code: 'wrong_backend' } })
    }
    expect(keys).toEqual([undefined])
  })
})
