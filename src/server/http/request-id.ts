import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { HEADERS } from '../../api/headers.ts'
import { newId } from '../../core/ids.ts'

/** What a client may call its request: short, and nothing that a log or a shell could stumble over. */
const SANE = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/

function givenId({ headers }: Pick<IncomingMessage, 'headers'>): string | null {
  const given = headers[HEADERS.requestId]
  return typeof given === 'string' && SANE.test(given) ? given : null
}

/** The id that a request goes by, in the log and in its answer: the client's where it is sane, else a new one. */
export const requestIdOf = (request: Pick<IncomingMessage, 'headers'>): string => givenId(request) ?? newId()

/** Every answer says which id its request goes by. */
export function addRequestIds(app: FastifyInstance): void {
  app.decorateRequest('ownId', '')
  app.decorateRequest('accepted', null)
  app.addHook('onRequest', async (request, reply) => {
    // A client may use its ids twice, so those don't serve for rows.
    request.ownId = givenId(request.raw) === null ? request.id : newId()
    reply.header(HEADERS.requestId, request.id)
  })
}
