import { isIPv4 } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { TITLES } from '../../api/errors.ts'
import { Refusal } from '../services/refusal.ts'

/** `localhost:4680` without its port; an IPv6 address keeps its brackets. */
const hostName = (header: string) => header.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')

export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}

/**
 * On loopback only requests addressed to loopback are answered: a web page that reaches this server through a DNS
 * name of its own (rebinding) still sends that name.
 */
export function createHostCheck(bound: string, allowedHosts: readonly string[]): (header: string | undefined) => void {
  if (!isLoopbackHost(bound.toLowerCase())) return () => {}
  const allowed = new Set(allowedHosts.map((host) => host.toLowerCase()))
  return (header) => {
    const host = hostName(header ?? '')
    if (isLoopbackHost(host) || allowed.has(host)) return
    throw new Refusal(421, TITLES.misdirected, 'this server answers requests to localhost only; see --allowed-host')
  }
}

/** The origin that a request was addressed to: what a client reached us by, it reaches again. */
export function originOf({ protocol, host }: Pick<FastifyRequest, 'protocol' | 'host'>): string {
  if (/^([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?$/i.test(host) && URL.canParse(`${protocol}://${host}`)) {
    return new URL(`${protocol}://${host}`).origin
  }
  throw new Refusal(400, TITLES.badRequest, 'the Host header names no host')
}
