import { isIPv4 } from 'node:net'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { hostName, isLoopbackHost } from './hosts.ts'

/**
 * Default headers of every response. They prevent caching and embedding, because a response can contain private data.
 */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
}

const HSTS = 'max-age=31536000'

/**
 * Sets the security headers that the route hasn't set. Call this function directly for a response to which no hook
 * applies.
 */
export function setSecurityHeaders(reply: FastifyReply): void {
  for (const [name, value] of Object.entries(SECURITY_HEADERS)) {
    if (!reply.hasHeader(name)) reply.header(name, value)
  }
  // Don't set this header for localhost, where a browser would enforce https on all ports, including those of other
  // servers.
  const host = hostName(reply.request.headers.host ?? '')
  if ('encrypted' in reply.request.raw.socket && !isLoopbackHost(host) && !isIPv4(host) && !host.startsWith('[')) {
    reply.header('strict-transport-security', HSTS)
  }
}

export function addSecurityHeaders(app: FastifyInstance): void {
  app.addHook('onSend', async (_request, reply) => setSecurityHeaders(reply))
}
