/** @module-tag slow */
import dns from 'node:dns'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createTransport } from '../../src/client/create-transport.ts'
import { growingTransport } from '../../src/client/growing-transport.ts'
import { createLightTransport } from '../../src/client/light-transport.ts'
import { createPoolTransport } from '../../src/client/pool-transport.ts'
import { type Transport, TransportError, type TransportRequest } from '../../src/client/transport.ts'
import { startHttpServer, startTcpServer } from '../helpers/http-server.ts'

type LookupCallback = (error: null, addresses: { address: string; family: number }[]) => void

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  for (const it of open.splice(0).reverse()) await it.close()
})

function kept<Closable extends { close(): Promise<void> }>(it: Closable): Closable {
  open.push(it)
  return it
}

const post = (url: string, more: Partial<TransportRequest> = {}): TransportRequest => ({
  method: 'POST',
  url,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from('{"a":1}'),
  timeoutMs: 60_000,
  ...more,
})

/** A response whose head and body may arrive separately. */
const isEnd = (data: Buffer) => data.toString().endsWith('{"a":1}')

async function failure(transport: Transport, request: TransportRequest): Promise<TransportError> {
  const error: unknown = await transport.request(request).then(
    () => new Error('was answered'),
    (reason: unknown) => reason,
  )
  if (!(error instanceof TransportError)) throw error
  return error
}

/** Sends raw bytes once the request has arrived, then ends the connection or leaves it open. */
const answering = (bytes: string, { end = true } = {}) =>
  startTcpServer((socket) => {
    socket.once('data', () => {
      socket.write(bytes)
      if (end) socket.end()
    })
  })

describe.each([
  ['light', createLightTransport],
  ['pool', () => createPoolTransport()],
])('%s transport', (_name, create) => {
  const transport = () => kept(create())

  test('returns status, body and lower-case headers, and joins repeated headers', async () => {
    const server = kept(
      await answering('HTTP/1.1 201 Created\r\nX-One: a\r\nX-One: b\r\nContent-Length: 2\r\n\r\nhi', { end: false }),
    )
    const answer = await transport().request(post(server.url))
    expect(answer.status).toBe(201)
    expect(answer.headers['x-one']).toBe('a, b')
    expect(Buffer.from(answer.body).toString()).toBe('hi')
  })

  test('sends method, headers and body unchanged, and a streamed body with its length', async () => {
    const server = kept(await startHttpServer([{ json: {} }]))
    const it = transport()
    await it.request(post(`${server.url}/p?q=1`))
    const { body: _body, ...head } = post(`${server.url}/stream`)
    const stream = {
      size: 6,
      async *open() {
        yield Buffer.from('abc')
        yield Buffer.from('def')
      },
    }
    await it.request({ ...head, stream })
    await it.request({ method: 'GET', url: `${server.url}/get`, headers: {}, timeoutMs: 60_000 })
    expect(server.seen.map(({ method, path, body }) => [method, path, String(body)])).toEqual([
      ['POST', '/p?q=1', '{"a":1}'],
      ['POST', '/stream', 'abcdef'],
      ['GET', '/get', ''],
    ])
    expect(server.seen[1]?.headers['content-length']).toBe('6')
  })

  test('does not follow redirects', async () => {
    const server = kept(await startHttpServer([{ status: 307, headers: { location: '/other' } }]))
    expect((await transport().request(post(server.url))).status).toBe(307)
    expect(server.seen).toHaveLength(1)
  })

  test('reuses connections', async () => {
    let connections = 0
    const server = kept(
      await startTcpServer((socket) => {
        connections++
        socket.on('data', (data) => {
          if (isEnd(data)) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
        })
      }),
    )
    const it = transport()
    for (let i = 0; i < 10; i++) await it.request(post(server.url))
    // undici opens a second connection for a request that begins while the response is still being processed.
    expect(connections).toBeLessThan(3)
  })

  describe('sets sent to false if no byte of the request was sent', () => {
    test('for a name that is not found', async () => {
      expect(await failure(transport(), post('http://nowhere.invalid/'))).toMatchObject({ sent: false })
    })

    test('for a refused connection', async () => {
      const server = await startTcpServer(() => {})
      await server.close()
      expect(await failure(transport(), post(server.url))).toMatchObject({ sent: false })
    })

    test('for a server without TLS', async () => {
      const server = kept(await startTcpServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')))
      expect(await failure(transport(), post(`https://127.0.0.1:${server.port}/`))).toMatchObject({ sent: false })
    })

    test('for a connection reset during the TLS handshake', async () => {
      const server = kept(await startTcpServer((socket) => socket.once('data', () => socket.resetAndDestroy())))
      expect(await failure(transport(), post(`https://127.0.0.1:${server.port}/`))).toMatchObject({ sent: false })
    })

    test('for a timeout during the TLS handshake', async () => {
      const server = kept(await startTcpServer(() => {}))
      const request = post(`https://127.0.0.1:${server.port}/`, { timeoutMs: 150 })
      expect(await failure(transport(), request)).toMatchObject({ sent: false })
    })

    test('rejects with the reason of a signal that was already aborted, and does not connect', async () => {
      const server = kept(await startHttpServer([{}]))
      const reason = new Error('stopped')
      await expect(transport().request(post(server.url, { signal: AbortSignal.abort(reason) }))).rejects.toBe(reason)
      expect(server.seen).toHaveLength(0)
    })

    test('rejects with the reason of a signal that is aborted while it connects, and sends nothing', async () => {
      let tls: Socket | undefined
      const server = kept(
        await startTcpServer((socket) => {
          tls = socket
        }),
      )
      const abort = new AbortController()
      const reason = new Error('stopped')
      const pending = transport().request(post(`https://127.0.0.1:${server.port}/`, { signal: abort.signal }))
      while (tls === undefined) await delay(5)
      abort.abort(reason)
      await expect(pending).rejects.toBe(reason)
    })
  })

  test.each([
    ['after a timeout', () => ({ timeoutMs: 1500 })],
    ['after an abort', () => ({ signal: AbortSignal.timeout(1500) })],
  ])('does not send a request that was canceled before the connection was open: %s', async (_why, more) => {
    const server = kept(await startTcpServer(() => {}))
    let resolveName = () => {}
    const asked = new Promise<void>((seen) => {
      vi.spyOn(dns, 'lookup').mockImplementation(((_host: string, _options: unknown, done: LookupCallback) => {
        resolveName = () => done(null, [{ address: '127.0.0.1', family: 4 }])
        seen()
      }) as typeof dns.lookup)
    })
    const pending = transport().request(post(`http://slow.test:${server.port}/`, more()))
    pending.catch(() => {})
    await asked
    await expect(pending).rejects.not.toMatchObject({ sent: true })
    resolveName()
    // What is sent later arrives alone.
    const later = connect(server.port, '127.0.0.1').end('later')
    await once(later, 'finish')
    while (server.received() === 0) await delay(5)
    expect(server.received()).toBe('later'.length)
    later.destroy()
  })

  test('asks for permission just before the first byte, and sends nothing without it, on a new or a reused connection', async () => {
    const server = kept(await startHttpServer([{ json: {} }]))
    const it = transport()
    for (const seen of [0, 1]) {
      const { sent } = await failure(it, post(server.url, { maySend: () => false }))
      expect(sent).toBe(false)
      expect(server.seen).toHaveLength(seen)
      if (seen === 0) await it.request(post(server.url, { maySend: () => true }))
    }
    await it.request(post(server.url))
    expect(server.seen).toHaveLength(2)
  })

  describe('sets sent to true if the request may have arrived', () => {
    test('for a connection reset after the request was read', async () => {
      const server = kept(await startTcpServer((socket) => socket.once('data', () => socket.resetAndDestroy())))
      expect(await failure(transport(), post(server.url))).toMatchObject({ sent: true })
    })

    test('for a connection closed without a response', async () => {
      const server = kept(await startHttpServer(['drop']))
      expect(await failure(transport(), post(server.url))).toMatchObject({ sent: true })
    })

    test('for a kept connection that the server resets when the next request arrives', async () => {
      let requests = 0
      const server = kept(
        await startTcpServer((socket) => {
          socket.on('data', (data) => {
            if (!isEnd(data)) return
            if (requests++ === 0) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
            else socket.resetAndDestroy()
          })
        }),
      )
      const it = transport()
      await it.request(post(server.url))
      expect(await failure(it, post(server.url))).toMatchObject({ sent: true })
      expect(requests).toBe(2)
    })

    test.each([
      ['for a head that is cut off', 'HTTP/1.1 200 OK\r\nContent-Le'],
      ['for a body shorter than its length', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc'],
      ['for chunks without an end', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n'],
      ['for a response that is not HTTP', 'hello there\r\n\r\n'],
    ])('%s', async (_what, bytes) => {
      const server = kept(await answering(bytes))
      expect(await failure(transport(), post(server.url))).toMatchObject({ sent: true })
    })

    test('for a response that does not arrive in time', async () => {
      const server = kept(await startTcpServer(() => {}))
      const error = await failure(transport(), post(server.url, { timeoutMs: 1500 }))
      expect(error).toMatchObject({ sent: true, message: 'no complete response within 1.5 s' })
    })

    test('for a response that arrives byte by byte: the timeout covers the whole response', async () => {
      const server = kept(
        await startTcpServer((socket) => {
          socket.once('data', () => {
            socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n')
            const timer = setInterval(() => socket.write('x'), 20)
            socket.on('close', () => clearInterval(timer))
          })
        }),
      )
      expect(await failure(transport(), post(server.url, { timeoutMs: 1500 }))).toMatchObject({ sent: true })
    })

    test('sets sent to true and stops reading if a response is too long', async () => {
      let written = 0
      const server = kept(
        await startTcpServer((socket) => {
          const piece = Buffer.alloc(1024 * 1024)
          const fill = () => {
            do written += piece.length
            while (!socket.destroyed && socket.write(piece))
          }
          socket.on('drain', fill)
          socket.once('data', () => {
            socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n')
            fill()
          })
        }),
      )
      const error = await failure(transport(), post(server.url, { timeoutMs: 30_000 }))
      expect(error).toMatchObject({ sent: true })
      expect(error.message).toContain('64 MiB')
      expect(written).toBeLessThan(200 * 1024 * 1024)
    })

    test('for a signal that is aborted while it waits for the response', async () => {
      const abort = new AbortController()
      const server = kept(await startTcpServer((socket) => socket.once('data', () => abort.abort())))
      expect(await failure(transport(), post(server.url, { signal: abort.signal }))).toMatchObject({ sent: true })
    })
  })

  test('returns a response that arrives before the request was read completely', async () => {
    const server = kept(
      await startTcpServer((socket) => {
        socket.once('data', () => socket.write('HTTP/1.1 413 Payload Too Large\r\nContent-Length: 0\r\n\r\n'))
      }),
    )
    const answer = await transport().request(post(server.url, { body: Buffer.alloc(8 * 1024 * 1024) }))
    expect(answer.status).toBe(413)
  })
})

test('a growing transport sends a few requests by the first one, and then all others by one that it creates once', async () => {
  const server = kept(await startHttpServer(() => ({ json: {} })))
  const used: string[] = []
  const ended: string[] = []
  const listeners: (() => void)[] = []
  const noted = (name: string, transport: Transport): Transport => ({
    request(request) {
      used.push(name)
      return transport.request(request)
    },
    onDisconnect: (listener) => void listeners.push(listener),
    async close() {
      ended.push(name)
      await transport.close()
    },
  })
  let created = 0
  const growing = kept(
    growingTransport(noted('light', createLightTransport()), 2, async () => {
      created += 1
      return noted('pool', createPoolTransport())
    }),
  )
  let disconnects = 0
  growing.onDisconnect?.(() => {
    disconnects += 1
  })
  await growing.request(post(server.url))
  expect(created).toBe(0)
  await Promise.all(Array.from({ length: 5 }, () => growing.request(post(server.url))))
  expect(used.filter((name) => name === 'light').length).toBe(2)
  expect(used.filter((name) => name === 'pool').length).toBe(4)
  expect(created).toBe(1)
  for (const listener of listeners) listener()
  expect(disconnects).toBe(2)
  await growing.close()
  expect(ended).toEqual(['light', 'pool'])
})

test('uses a proxy for hosts that noProxy does not name', async () => {
  const connects: string[] = []
  const proxy = kept(
    await startTcpServer((socket) => {
      socket.once('data', (data) => {
        connects.push(String(data).split('\r\n')[0] ?? '')
        socket.end('HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n')
      })
    }),
  )
  const direct = kept(await startHttpServer([{ json: {} }]))
  const options = { httpProxy: proxy.url, httpsProxy: proxy.url, noProxy: '127.0.0.1' }
  const transport = kept(await createTransport('single', { proxy: options }))
  expect((await transport.request(post(direct.url))).status).toBe(200)
  expect(connects).toEqual([])
  expect(await failure(transport, post('https://example.invalid/'))).toMatchObject({ sent: false })
  expect(connects).toEqual(['CONNECT example.invalid:443 HTTP/1.1'])
})

test('ends the request if the proxy closes the connection, without retrying forever', async () => {
  let connections = 0
  const proxy = kept(
    await startTcpServer((socket) => {
      connections += 1
      socket.once('data', () => socket.destroy())
    }),
  )
  const transport = kept(
    await createTransport('single', { proxy: { httpProxy: '', httpsProxy: proxy.url, noProxy: '' } }),
  )
  const error = await failure(transport, post('https://example.invalid/', { timeoutMs: 2000 }))
  expect(error).toMatchObject({ sent: false, message: expect.stringContaining('the proxy closed the connection') })
  expect(connections).toBe(1)
})
