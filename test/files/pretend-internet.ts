import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { vi } from 'vitest'
import type { Resolve } from '../../src/files/lookup.ts'

/** Addresses of the pretended internet: public ones, none of them documentation ranges. */
export const PUBLIC_V4 = '93.184.215.14'
export const PUBLIC_V6 = '2606:2800:21f:cb07:6820:80da:af6b:8b2c'

export interface PretendInternet {
  /** What `http://files.example` answers. */
  answer: http.RequestListener
  /** Requests that came, as `method url`. */
  requests: http.IncomingMessage[]
  /** Connections that went anywhere but to the public server: none may. */
  reachedInside: string[]
  /** Hosts and their addresses; each question takes the next answer, the last one stays. */
  hosts: Record<string, string[][]>
  resolve: Resolve
  /** The server as it is reached without pretending. */
  localUrl: string
  close(): Promise<void>
}

/**
 * One real server and one real canary on loopback, and sockets that lead port 80 and 443 of the public addresses to
 * the first and everything else to the second. The socket's own lookup decides the address, as it does in earnest.
 *
 * @param open ports that lead where they always do
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
          // Which of several a socket takes is a matter of timing: all of them must be fit to be taken.
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
