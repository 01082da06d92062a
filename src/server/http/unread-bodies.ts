import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** Time limit for the rest of a rejected body. */
const LINGER_MS = 2000

const lingering = new WeakSet<Socket>()

/** Whether this connection has its response and is only drained: no further request may follow on it. */
export const isLingering = (socket: Socket): boolean => lingering.has(socket)

/**
 * Drains a body that was rejected early for a moment. If a connection is closed while bytes arrive, it is reset, and
 * the client may lose the response.
 */
export function addUnreadBodies(app: FastifyInstance): void {
  app.addHook('onSend', async ({ raw }, reply) => {
    // The framework would close the connection at once.
    if (raw.complete || reply.getHeader('connection') !== 'close') return
    reply.removeHeader('connection')
    const { socket } = raw
    lingering.add(socket)
    const cut = setTimeout(() => socket.destroy(), LINGER_MS).unref()
    raw.once('end', () => {
      clearTimeout(cut)
      lingering.delete(socket)
    })
    raw.resume()
  })
}
