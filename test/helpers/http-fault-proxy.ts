import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Faults of a request. With `…-after`, the server has responded before. */
export const FAULTS = [
  'drop-before',
  'drop-after',
  'reset-before',
  'reset-after',
  'delay',
  'truncate',
  '408-before',
  '408-after',
  '429',
  '429-retry-after',
  '500-before',
  '500-after',
  '502-before',
  '502-after',
] as const
export type Fault = (typeof FAULTS)[number]

export interface HttpFaultProxy {
  url: string
  /** Number of times each fault happened. `none` counts requests without a fault. */
  counts: Record<Fault | 'none', number>
  /** Resolves after this many more requests. */
  after(requests: number, signal: AbortSignal): Promise<void>
  /** Stops all faults. */
  heal(): void
  close(): Promise<void>
}

interface Request {
  path: string
  bytes: Buffer
}

const REASONS: Record<string, string> = {
  '408': 'Request Timeout',
  '429': 'Too Many Requests',
  '500': 'Internal Server Error',
  '502': 'Bad Gateway',
}
const MAX_DELAY_MS = 150

/**
 * A TCP proxy that disrupts requests to an HTTP server: closes or resets connections before or after the server accepts
 * the request, delays or truncates responses, or returns the HTML error of a load balancer.
 *
 * @param faultOf selects the fault of a request by its path, or null
 */
export async function startHttpFaultProxy(
  target: string,
  options: { faultOf: (path: string) => Fault | null; random: () => number },
): Promise<HttpFaultProxy> {
  const { hostname, port } = new URL(target)
  const counts = Object.fromEntries(['none', ...FAULTS].map((name) => [name, 0])) as HttpFaultProxy['counts']
  const sockets = new Set<Socket>()
  let healed = false
  let seen = 0

  const keep = (socket: Socket): Socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    return socket
  }

  /** One exchange with the server on a separate connection. */
  const forward = ({ bytes }: Request): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      const chunks: Buffer[] = []
      const upstream = keep(connect(Number(port), hostname, () => upstream.write(withClose(bytes))))
      upstream.on('data', (chunk: Buffer) => chunks.push(chunk))
      upstream.on('end', () => resolve(Buffer.concat(chunks)))
      upstream.on('error', reject)
    })

  async function serve(client: Socket, request: Request): Promise<void> {
    seen++
    const fault = healed ? null : options.faultOf(request.path)
    counts[fault ?? 'none']++
    if (fault === 'drop-before') return void client.end()
    if (fault === 'reset-before') return void client.resetAndDestroy()
    if (fault === '408-before' || fault === '500-before' || fault === '502-before' || fault?.startsWith('429')) {
      return void client.end(balancerSays(fault))
    }
    const answer = await forward(request)
    if (fault === 'delay') await new Promise((resolve) => setTimeout(resolve, options.random() * MAX_DELAY_MS))
    switch (fault) {
      case 'drop-after':
        return void client.end()
      case 'reset-after':
        return void client.resetAndDestroy()
      case 'truncate':
        return void client.end(answer.subarray(0, Math.ceil(answer.length * options.random())))
      case '408-after':
      case '500-after':
      case '502-after':
        return void client.end(balancerSays(fault))
      default:
        return void client.end(answer)
    }
  }

  const server = createServer((client) => {
    keep(client)
    let received = Buffer.alloc(0)
    client.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      const request = wholeRequest(received)
      if (request === null) return
      // Every response closes its connection, so there is one request per connection.
      client.removeAllListeners('data')
      client.resume()
      serve(client, request).catch(() => client.destroy())
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts,
    async after(requests, signal) {
      for (const until = seen + requests; seen < until; ) {
        signal.throwIfAborted()
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    },
    heal() {
      healed = true
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const HEAD_END = '\r\n\r\n'

/** Returns the request at the start of the bytes, or null until it is complete. */
function wholeRequest(bytes: Buffer): Request | null {
  const headEnd = bytes.indexOf(HEAD_END)
  if (headEnd < 0) return null
  const head = bytes.toString('latin1', 0, headEnd)
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
  const end = headEnd + HEAD_END.length + length
  return bytes.length < end ? null : { path: head.split(' ')[1] ?? '', bytes: bytes.subarray(0, end) }
}

/** Adds connection: close to a request, so that the end of the response needs no parsing. */
function withClose(request: Buffer): Buffer {
  const headEnd = request.indexOf(HEAD_END)
  const head = request.toString('latin1', 0, headEnd).replace(/\r\nconnection: [^\r]*/i, '')
  return Buffer.concat([Buffer.from(`${head}\r\nconnection: close`, 'latin1'), request.subarray(headEnd)])
}

function balancerSays(fault: Fault): string {
  const status = fault.slice(0, 3)
  const html = `<html><head><title>${status}</title></head><body><center>${REASONS[status]}</center></body></html>`
  const retry = fault === '429-retry-after' ? 'retry-after: 1\r\n' : ''
  return `HTTP/1.1 ${status} ${REASONS[status]}\r\ncontent-type: text/html\r\n${retry}content-length: ${html.length}\r\nconnection: close${HEAD_END}${html}`
}
