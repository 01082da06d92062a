import { isIP, isIPv4 } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { TITLES } from '../../api/errors.ts'
import { parseUrl } from '../../core/parse-url.ts'
import { Refusal } from '../services/refusal.ts'

/** `localhost:4680` without its port; an IPv6 address keeps its brackets. */
export const hostName = (header: string) => header.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')

export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}

/** Whether a client's address, as a socket tells it, is one of this machine. */
export function isLoopbackAddress(address: string): boolean {
  return isLoopbackHost(address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, ''))
}

/** Names can be made to lead here by whoever owns them; addresses can't. */
const isAddress = (host: string) => isIP(host.replace(/^\[(.*)\]$/, '$1')) !== 0

/**
 * On loopback only requests addressed to loopback are answered: a web page that reaches this server through a DNS
 * name of its own (rebinding) still sends that name. Beyond loopback the names under which a server is known aren't
 * known to it, so that is checked where they were told.
 */
export function createHostCheck(bound: string, allowedHosts: readonly string[]): (request: Asked) => void {
  const local = isLoopbackHost(bound.toLowerCase())
  if (!local && allowedHosts.length === 0) return () => {}
  const allowed = new Set(allowedHosts.map((host) => host.toLowerCase()))
  const answered = (header: string) => {
    const host = hostName(header)
    return isLoopbackHost(host) || allowed.has(host) || (!local && isAddress(host))
  }
  return ({ headers, host }) => {
    // A proxy may have been addressed by another name: that one counts too, and doesn't stand for the one that came.
    if (answered(headers.host ?? '') && answered(host ?? '')) return
    const what = local ? 'requests to localhost only' : 'requests to its own names only'
    throw new Refusal(421, TITLES.misdirected, `this server answers ${what}; see --allowed-host`)
  }
}

type Asked = Pick<FastifyRequest, 'headers'> & { host: string | undefined }

/** Not pages: nobody but the person who installed one runs it. */
const EXTENSION = /^[a-z-]+-extension:$/

/**
 * Whether a request comes from a page of a stranger. Tools send no Origin; pages of this server, of this machine
 * (an app in development) and of allowed hosts are no strangers.
 */
export function isForeignPage({ headers, host }: Asked, allowedHosts: readonly string[]): boolean {
  const { origin } = headers
  if (origin === undefined) return false
  const url = parseUrl(origin)
  if (url === null) return true
  if (EXTENSION.test(url.protocol)) return false
  const name = hostName(url.host)
  const known = url.host === host?.toLowerCase() || isLoopbackHost(name)
  return !known && !allowedHosts.some((allowed) => allowed.toLowerCase() === name)
}

/** The origin that a request was addressed to: what a client reached us by, it reaches again. */
export function originOf({ protocol, host }: Pick<FastifyRequest, 'protocol' | 'host'>): string {
  const url = parseUrl(`${protocol}://${host}`)
  const plain = /^https?$/.test(protocol) && /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?$/i.test(host)
  if (plain && url !== null) return url.origin
  throw new Refusal(400, TITLES.badRequest, 'the Host header names no host')
}
