import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'

export interface SeenRequest {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: Buffer
}

/** The response to the next request. `drop` closes the connection without a response after the request was read. */
export type Reply =
  | { status?: number; headers?: Record<string, string>; json?: unknown; text?: string; body?: Buffer }
  | 'drop'

export interface HttpServer {
  url: string
  seen: SeenRequest[]
  close(): Promise<void>
}

/** Starts a server on a free port of this machine. */
export async function listenLocally(server: Server): Promise<Pick<HttpServer, 'url' | 'close'>> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A scripted HTTP server: the n-th reply for the n-th request, then the last one for all others. */
export async function startHttpServer(
  script: Reply[] | ((request: SeenRequest, index: number) => Reply | Promise<Reply>),
): Promise<HttpServer> {
  const seen: SeenRequest[] = []
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of incoming) chunks.push(chunk)
    } catch {
      // The client aborted its request.
      return
    }
    const request = {
      method: incoming.method ?? '',
      path: incoming.url ?? '',
      headers: incoming.headers,
      body: Buffer.concat(chunks),
    }
    const index = seen.push(request) - 1
    const reply =
      typeof script === 'function' ? await script(request, index) : script[Math.min(index, script.length - 1)]
    if (reply === undefined) throw new Error(`no reply was scripted for request ${index}`)
    if (reply === 'drop') {
      incoming.socket.destroy()
      return
    }
    const type = reply.text === undefined ? 'application/json' : 'text/html'
    outgoing.writeHead(reply.status ?? 200, { 'content-type': type, ...reply.headers })
    outgoing.end(reply.body ?? reply.text ?? JSON.stringify(reply.json ?? {}))
  })
  return { ...(await listenLocally(server)), seen }
}

export interface TcpServer {
  port: number
  url: string
  /** Number of received bytes over all connections. */
  received(): number
  close(): Promise<void>
}

/** A server that sends raw bytes, for responses that no valid HTTP server sends. */
export async function startTcpServer(onConnection: (socket: Socket) => void): Promise<TcpServer> {
  const sockets = new Set<Socket>()
  let received = 0
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('data', (data) => {
      received += data.length
    })
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    onConnection(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    received: () => received,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
