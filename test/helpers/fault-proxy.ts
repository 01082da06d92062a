import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** What befalls one request. `…-after`: the server behind has answered it before. */
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

export interface FaultProxy {
  url: string
  /** How often each fault happened; `none` is a request that went through unharmed. */
  counts: Record<Fault | 'none', number>
  /** Resolves when so many more requests have come. */
  after(requests: number, signal: AbortSignal): Promise<void>
  /** From now on nothing goes wrong. */
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
 * A TCP proxy before an HTTP server that spoils requests: connections that end or are reset before or after the server
 * took the request, answers that come late, cut in the middle, or from a load balancer that speaks HTML.
 *
 * @param faultOf decides about a request by its path; null lets it through
 */
export async function startFaultProxy(
  target: string,
  options: { faultOf: (path: string) => Fault | null; random: () => number },
): Promise<FaultProxy> {
  const { hostname, port } = new URL(target)
  const counts = Object.fromEntries(['none', ...FAULTS].map((name) => [name, 0])) as FaultProxy['counts']
  const sockets = new Set<Socket>()
  let healed = false
  let seen = 0

  const keep = (socket: Socket): Socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    return socket
  }

  /** One exchange with the server behind, on a connection of its own. */
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
      // Every answer closes its connection, so there is one request to a connection.
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

/** The request at the beginning of the bytes, once all of it is there. */
function wholeRequest(bytes: Buffer): Request | null {
  const headEnd = bytes.indexOf(HEAD_END)
  if (headEnd < 0) return null
  const head = bytes.toString('latin1', 0, headEnd)
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
  const end = headEnd + HEAD_END.length + length
  return bytes.length < end ? null : { path: head.split(' ')[1] ?? '', bytes: bytes.subarray(0, end) }
}

/** The same request on a connection that ends with its answer: then the end of the answer needs no parsing. */
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
