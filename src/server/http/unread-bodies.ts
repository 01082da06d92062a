import type { FastifyInstance } from 'fastify'

/** How long the rest of a refused body may take. */
const LINGER_MS = 2000

/**
 * A body that is refused half-way is read on for a moment, and forgotten: a connection that is closed while bytes
 * arrive is reset, and the answer, which may not have been read yet, is lost with it.
 */
export function addUnreadBodies(app: FastifyInstance): void {
  app.addHook('onSend', async ({ raw }, reply) => {
    // The framework means to close the connection at once.
    if (raw.complete || reply.getHeader('connection') !== 'close') return
    reply.removeHeader('connection')
    const cut = setTimeout(() => raw.socket.destroy(), LINGER_MS).unref()
    raw.once('end', () => clearTimeout(cut))
    raw.resume()
  })
}
