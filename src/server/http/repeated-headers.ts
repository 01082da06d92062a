import type { FastifyInstance } from 'fastify'
import { HEADERS } from '../../api/headers.ts'
import { badRequest } from '../services/refusal.ts'

/** Of these Node keeps the first, or joins them: which one was meant nobody can tell. */
const SINGLE = new Set(['host', 'content-type', 'content-encoding', HEADERS.idempotencyKey])

/** A header that says what a request means may stand there once. */
export function refuseRepeatedHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', async ({ raw: { rawHeaders } }) => {
    const seen = new Set<string>()
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const name = (rawHeaders[i] ?? '').toLowerCase()
      if (!SINGLE.has(name)) continue
      if (seen.has(name)) throw badRequest(`the header ${name} is given more than once`)
      seen.add(name)
    }
  })
}
