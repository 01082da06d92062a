import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** Maximum time in milliseconds to read the rest of a rejected body. */
const LINGER_MS = 2000

const lingeringSockets = new WeakSet<Socket>()

/**
 * Returns whether the response was already sent on a connection, and only the rest of the request's body is being read.
 */
export const isLingering = (socket: Socket): boolean => lingeringSockets.has(socket)

/**
 * Reads the rest of a rejected body for a short time. If the server closed the connection while the body is still
 * arriving, the connection would be reset, and the client might not receive the response.
 */
export function addUnreadBodies(app: FastifyInstance): void {
  app.addHook('onSend', async ({ raw }, reply) => {
    // The framework closes the connection immediately if this header is set.
    if (raw.complete || reply.getHeader('connection') !== 'close') return
    reply.removeHeader('connection')
    const { socket } = raw
    lingeringSockets.add(socket)
    const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref()
    raw.once('end', () => {
      clearTimeout(timer)
      lingeringSockets.delete(socket)
    })
    raw.resume()
  })
}
