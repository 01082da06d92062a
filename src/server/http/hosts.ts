import { isIP, isIPv4 } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { ERROR_TITLES } from '../../api/errors.ts'
import { parseUrl } from '../../core/parse-url.ts'
import { Refusal } from '../services/refusals.ts'

/** Returns the host in a Host header without its port. Keeps the brackets of an IPv6 address. */
export const hostName = (header: string) => header.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')

export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}

/** Returns whether a client's socket address belongs to this machine. */
export function isLoopbackAddress(address: string): boolean {
  return isLoopbackHost(address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, ''))
}

/**
 * Returns whether a host is an IP address. DNS rebinding can't use IP addresses, because it needs a name that resolves
 * to this machine.
 */
const isAddress = (host: string) => isIP(host.replace(/^\[(.*)\]$/, '$1')) !== 0

/**
 * Returns a check that rejects requests to other hosts. On loopback, the Host header must be a loopback name: a web
 * page that reaches this server through DNS rebinding sends its own name. On other addresses, the server can't
 * determine its own names, so the header is checked only if names are configured.
 */
export function createHostCheck(bound: string, allowedHosts: readonly string[]): (request: RequestWithHost) => void {
  const isLoopbackServer = isLoopbackHost(bound.toLowerCase())
  if (!isLoopbackServer && allowedHosts.length === 0) return () => {}
  const allowed = new Set(allowedHosts.map((host) => host.toLowerCase()))
  const isServed = (header: string) => {
    const host = hostName(header)
    return isLoopbackHost(host) || allowed.has(host) || (!isLoopbackServer && isAddress(host))
  }
  return ({ headers, host }) => {
    // Check a proxy's X-Forwarded-Host in addition to the received Host header, not instead of it.
    if (isServed(headers.host ?? '') && isServed(host ?? '')) return
    const servedNames = isLoopbackServer ? 'localhost' : 'its own host names'
    throw new Refusal(
      421,
      ERROR_TITLES.misdirected,
      `this server accepts only requests to ${servedNames}: see --allowed-host`,
    )
  }
}

type RequestWithHost = Pick<FastifyRequest, 'headers'> & { host: string | undefined }

/**
 * Matches the origin of a browser extension. Requests from an extension are allowed, because the user installed the
 * extension.
 */
const EXTENSION = /^[a-z-]+-extension:$/

/**
 * Returns whether a request comes from a page of another site. Tools send no Origin. Pages of this server, of this
 * machine (such as an app in development) and of allowed hosts are trusted.
 */
export function isForeignPage({ headers, host }: RequestWithHost, allowedHosts: readonly string[]): boolean {
  const { origin } = headers
  if (origin === undefined) return false
  const url = parseUrl(origin)
  if (url === null) return true
  if (EXTENSION.test(url.protocol)) return false
  const name = hostName(url.host)
  const isKnown = url.host === host?.toLowerCase() || isLoopbackHost(name)
  return !isKnown && !allowedHosts.some((allowed) => allowed.toLowerCase() === name)
}

/** Returns the origin to which the client sent the request, and at which it can reach the server. */
export function requestOrigin({ protocol, host }: Pick<FastifyRequest, 'protocol' | 'host'>): string {
  const url = parseUrl(`${protocol}://${host}`)
  const plain = /^https?$/.test(protocol) && /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?$/i.test(host)
  if (plain && url !== null) return url.origin
  throw new Refusal(400, ERROR_TITLES.badRequest, 'the Host header has no host')
}
