import type { Server, Socket } from 'node:net'
import { isIPv6 } from 'node:net'
import type { Log } from '../log.ts'
import { isLoopbackAddress } from './hosts.ts'

/** Maximum number of open connections. */
export interface ConnectionLimits {
  total: number
  /** Maximum per client address, or per /64 for IPv6, which providers assign to a single customer. */
  perAddress: number
}

export const DEFAULT_CONNECTIONS: ConnectionLimits = { total: 2000, perAddress: 200 }

/** Minimum interval in milliseconds between log lines about closed connections. */
const LOG_EVERY_MS = 60_000

/**
 * Closes connections beyond the limits before reading from them. Connections from this machine and from trusted proxies
 * count only toward the total, because they carry the requests of many clients.
 */
export function limitConnections(
  server: Server,
  { total, perAddress }: ConnectionLimits,
  { isTrusted, log }: { isTrusted: (address: string) => boolean; log: Log },
): void {
  const open = new Map<string, number>()
  let closed = 0
  let loggedAt = Number.NEGATIVE_INFINITY
  const count = () => {
    closed++
    if (performance.now() - loggedAt < LOG_EVERY_MS) return
    loggedAt = performance.now()
    log.warn({ closed }, 'connections beyond the limits were closed')
    closed = 0
  }
  server.maxConnections = total
  server.on('drop', count)
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? ''
    if (isLoopbackAddress(address) || isTrusted(address)) return
    const client = clientNetwork(address)
    const openNow = open.get(client) ?? 0
    if (openNow >= perAddress) {
      socket.destroy()
      return count()
    }
    open.set(client, openNow + 1)
    socket.once('close', () => {
      const stillOpen = (open.get(client) ?? 1) - 1
      if (stillOpen === 0) open.delete(client)
      else open.set(client, stillOpen)
    })
  })
}

/** Returns an IPv4 address without the port that some proxies append, or the /64 network of an IPv6 address. */
export function clientNetwork(client: string): string {
  const address = /^\[(.*)\](?::\d+)?$/.exec(client)?.[1] ?? client.replace(/^([\d.]+):\d+$/, '$1')
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined || !isIPv6(address)) return mapped ?? address
  const [before = '', after] = (address.split('%')[0] ?? '').split('::')
  const head = before === '' ? [] : before.split(':')
  const tail = after === undefined || after === '' ? [] : after.split(':')
  const zeros = after === undefined ? 0 : 8 - head.length - tail.length
  const groups = [...head, ...Array<string>(Math.max(0, zeros)).fill('0'), ...tail].slice(0, 4)
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}
