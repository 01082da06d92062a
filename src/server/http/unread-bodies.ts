import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** How long the rest of a refused body may take. */
const LINGER_MS = 2000

const lingering = new WeakSet<Socket>()

/** Whether this connection has its answer, and is only read on until it is cut: nothing may follow on it. */
export const isLingering = (socket: Socket): boolean => lingering.has(socket)

/**
 * A body that is refused half-way is read on for a moment, and forgotten: a connection that is closed while bytes
 * arrive is reset, and the answer, which may not have been read yet, is lost with it.
 */
export function addUnreadBodies(app: FastifyInstance): void {
  app.addHook('onSend', async ({ raw }, reply) => {
    // The framework means to close the connection at once.
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
