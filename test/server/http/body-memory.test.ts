/** @module-tag slow */
import { connect, type Socket } from 'node:net'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startTestBackend, type TestBackend, temporaryDataDir } from '../../helpers/backend.ts'
import { whenFileDone } from '../../helpers/clean-up.ts'

const KIB = 1024
const MIB = 1024 * KIB

let dataDir: string
let backend: TestBackend
let sockets: Socket[]

beforeAll(async () => {
  dataDir = await temporaryDataDir(whenFileDone)
})

async function start(options: Parameters<typeof startTestBackend>[1] = {}): Promise<void> {
  sockets = []
  backend = await startTestBackend(dataDir, { trustProxy: ['127.0.0.1'], ...options })
}

afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  await backend.close()
})

interface Unfinished {
  /** Resolves with the status line of the response. */
  status: Promise<number>
  /** Resolves once all bytes have been passed to the kernel. */
  sent: Promise<void>
  socket: Socket
}

/** Sends a request from a client behind the proxy, all but the last byte of its body. */
function unfinished(from: string, length: number, start = 'POST /api/v1/getnfts'): Unfinished {
  const { hostname, port } = new URL(backend.url)
  const socket = connect(Number(port), hostname)
  sockets.push(socket)
  const head = [
    `${start} HTTP/1.1`,
    `Host: ${hostname}:${port}`,
    'Content-Type: application/json',
    `X-Api-Key: ${backend.apiKey.reveal()}`,
    `X-Forwarded-For: ${from}`,
    `Content-Length: ${length}`,
  ]
  socket.on('error', () => {})
  const status = statusOf(socket)
  const sent = new Promise<void>((resolve) => {
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    socket.write(' '.repeat(length - 1), () => resolve())
  })
  return { status, sent, socket }
}

/**
 * Sends a chunked body to a route that accepts 512 KiB without a key, then another request. Resolves with the statuses
 * that were read before the connection ended or both requests had their response.
 */
function sendChunked(from: string, length: number): Promise<number[]> {
  const { hostname, port } = new URL(backend.url)
  const socket = connect(Number(port), hostname)
  sockets.push(socket)
  const head = [`Host: ${hostname}:${port}`, `X-Forwarded-For: ${from}`].join('\r\n')
  const chunk = `${(64 * KIB).toString(16)}\r\n${' '.repeat(64 * KIB)}\r\n`
  socket.write(`POST /rpc/polygon HTTP/1.1\r\n${head}\r\nContent-Type: application/json\r\n`)
  socket.write(`Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(length / (64 * KIB))}0\r\n\r\n`)
  socket.write(`GET /healthz HTTP/1.1\r\n${head}\r\n\r\n`)
  return new Promise((resolve) => {
    let text = ''
    const statuses = () => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => Number(code))
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1')
      if (statuses().length === 2) resolve(statuses())
    })
    socket.on('error', () => {})
    socket.once('close', () => resolve(statuses()))
  })
}

const statusOf = (socket: Socket) =>
  new Promise<number>((resolve) => {
    socket.once('data', (bytes) => resolve(Number(/^HTTP\/1.1 (\d+)/.exec(bytes.toString('latin1'))?.[1])))
  })

const finish = ({ socket }: Unfinished) => socket.write(' ')

describe('the memory of request bodies', () => {
  test('limits the memory of request bodies for each client address, even behind a trusted proxy', async () => {
    await start({ allowLocalKey: true, bodyMemory: { perAddress: 300 * KIB } })
    const first = unfinished('203.0.113.1', 200 * KIB)
    const others = [unfinished('203.0.113.1', 200 * KIB), unfinished('203.0.113.1', 200 * KIB)]
    expect(await Promise.race([first, ...others].map(({ status }) => status))).toBe(429)
    // Another client is not affected. Two addresses of one IPv6 network count as one client.
    const elsewhere = unfinished('203.0.113.2', 200 * KIB)
    await elsewhere.sent
    finish(elsewhere)
    expect(await elsewhere.status).toBe(422)
    const [one, two] = [unfinished('2001:db8::1', 200 * KIB), unfinished('2001:db8::2', 200 * KIB)]
    expect(await Promise.race([one.status, two.status])).toBe(429)
  })

  test('is limited in total: beyond the limit large bodies get 503 and small ones are read', async () => {
    await start({ allowLocalKey: true, bodyMemory: { total: 300 * KIB } })
    const both = [unfinished('203.0.113.1', 200 * KIB), unfinished('203.0.113.2', 200 * KIB)]
    expect(await Promise.race(both.map(({ status }) => status))).toBe(503)
    const small = unfinished('203.0.113.3', 60 * KIB)
    finish(small)
    expect(await small.status).toBe(422)
  })

  test('is released when a client disconnects', async () => {
    await start({ allowLocalKey: true, bodyMemory: { total: 300 * KIB } })
    for (let round = 0; round < 20; round++) {
      const one = unfinished('203.0.113.1', 200 * KIB)
      await one.sent
      one.socket.destroy()
    }
    for (;;) {
      const last = unfinished('203.0.113.2', 200 * KIB)
      finish(last)
      const status = await last.status
      if (status !== 503) return expect(status).toBe(422)
    }
  })

  test('is released when a body is rejected halfway, even if more of it arrives', async () => {
    await start({ allowLocalKey: true, bodyMemory: { total: 2 * MIB } })
    expect(await sendChunked('203.0.113.1', 8 * MIB)).toEqual([413, 200])
    const last = unfinished('203.0.113.2', MIB)
    finish(last)
    expect(await last.status).toBe(422)
  })

  test('is limited for bodies that no route reads, and the requests get a response', async () => {
    await start({ allowLocalKey: true, bodyMemory: { perAddress: 100 * KIB } })
    const first = unfinished('203.0.113.1', 100 * KIB)
    await first.sent
    const unread = unfinished('203.0.113.1', 100 * KIB, 'GET /healthz')
    expect(await unread.status).toBe(200)
    const tooLarge = unfinished('203.0.113.1', 5 * MIB)
    expect(await tooLarge.status).toBe(413)
    expect((await backend.get('/healthz')).status).toBe(200)
  })

  test('is at most 32 MiB for one client: of 100 unfinished bodies of 4 MiB, 92 are rejected', async () => {
    await start({ allowLocalKey: true })
    const all = Array.from({ length: 100 }, () => unfinished('203.0.113.1', 4 * MIB))
    let refused = 0
    await new Promise<void>((resolve) => {
      for (const { status } of all) {
        void status.then((code) => {
          expect(code).toBe(429)
          if (++refused === 92) resolve()
        })
      }
    })
    expect((await backend.get('/healthz')).status).toBe(200)
  })
})
