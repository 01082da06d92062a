import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { vi } from 'vitest'
import type { Resolve } from '../../src/files/lookup.ts'

/** Addresses of the simulated internet: public ones, none of them in documentation ranges. */
export const PUBLIC_V4 = '93.184.215.14'
export const PUBLIC_V6 = '2606:2800:21f:cb07:6820:80da:af6b:8b2c'

export interface PretendInternet {
  /** The response of `http://files.example`. */
  answer: http.RequestListener
  /** Received requests. */
  requests: http.IncomingMessage[]
  /** Connections to any other server than the public one. There must be none. */
  reachedInside: string[]
  /** Hosts with their addresses. Each query gets the next answer, and the last one is repeated. */
  hosts: Record<string, string[][]>
  resolve: Resolve
  /** The URL of the server without the simulation. */
  localUrl: string
  close(): Promise<void>
}

/**
 * One real server and one real canary on loopback. Sockets connect to the server for ports 80 and 443 of the public
 * addresses, and to the canary for everything else. As in production, the socket's own lookup determines the address.
 *
 * @param open ports that are not redirected
 */
export async function pretendInternet(open: readonly number[] = []): Promise<PretendInternet> {
  const connect = net.connect
  const inside: string[] = []
  const server = http.createServer((request, response) => {
    internet.requests.push(request)
    internet.answer(request, response)
  })
  const canary = net.createServer((socket) => socket.destroy())
  for (const listener of [server, canary]) {
    listener.listen(0, '127.0.0.1')
    await once(listener, 'listening')
  }

  const lead = (address: string): net.TcpNetConnectOpts => {
    const outside = address === PUBLIC_V4 || address === PUBLIC_V6
    if (!outside) inside.push(address)
    return { host: '127.0.0.1', port: portOf(outside ? server : canary) }
  }
  const spy = vi.spyOn(net, 'connect').mockImplementation(((options: net.TcpNetConnectOpts) => {
    const { host = '', lookup } = options
    if ([portOf(server), ...open].includes(Number(options.port))) return connect(options)
    if (net.isIP(host) !== 0 || lookup === undefined) return connect({ ...options, ...lead(host) })
    return connect({
      ...options,
      host,
      port: portOf(server),
      lookup: (hostname, hints, callback) =>
        lookup(hostname, { ...hints, all: true }, (error, addresses) => {
          const first = typeof addresses === 'string' ? addresses : addresses[0]?.address
          if (error !== null || first === undefined) return callback(error, '', 0)
          // Timing decides which of several addresses a socket uses, so all of them must be acceptable.
          const all = typeof addresses === 'string' ? [addresses] : addresses.map(({ address }) => address)
          for (const address of all) lead(address)
          callback(null, hints.all === true ? [{ address: '127.0.0.1', family: 4 }] : '127.0.0.1', 4)
        }),
    })
  }) as typeof net.connect)

  const internet: PretendInternet = {
    answer: (_request, response) => response.end('a file'),
    requests: [],
    reachedInside: inside,
    hosts: { 'files.example': [[PUBLIC_V4]] },
    resolve: async (hostname) => {
      const answers = internet.hosts[hostname]
      const answer = answers !== undefined && answers.length > 1 ? answers.shift() : answers?.[0]
      if (answer === undefined)
        throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' })
      return answer.map((address) => ({ address, family: net.isIP(address) }))
    },
    localUrl: `http://127.0.0.1:${portOf(server)}`,
    async close() {
      spy.mockRestore()
      server.closeAllConnections()
      await Promise.all([server, canary].map((listener) => new Promise((done) => listener.close(done))))
    },
  }
  return internet
}

function portOf(server: net.Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not listening')
  return address.port
}
