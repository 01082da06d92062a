import type { FastifyInstance } from 'fastify'
import { HEADERS } from '../../api/headers.ts'
import { badRequestError } from '../services/refusals.ts'

/**
 * Headers that may occur only once. If one is repeated, Node.js keeps only the first value or joins the values, so the
 * client's intent is ambiguous.
 */
const SINGLE = new Set(['host', 'content-type', 'content-encoding', HEADERS.idempotencyKey])

/** Rejects a repeated header that affects the meaning of a request. */
export function refuseRepeatedHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', async ({ raw: { rawHeaders } }) => {
    const seenNames = new Set<string>()
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const name = (rawHeaders[i] ?? '').toLowerCase()
      if (!SINGLE.has(name)) continue
      if (seenNames.has(name)) throw badRequestError(`the header ${name} is repeated`)
      seenNames.add(name)
    }
  })
}
