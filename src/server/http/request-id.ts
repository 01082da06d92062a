import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { HEADERS } from '../../api/headers.ts'
import { newId } from '../../core/ids.ts'

/** A valid client request ID: short, without characters that could break a log or a shell. */
const SANE = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/

function givenId({ headers }: Pick<IncomingMessage, 'headers'>): string | null {
  const given = headers[HEADERS.requestId]
  return typeof given === 'string' && SANE.test(given) ? given : null
}

/** The ID of a request in the log and in its response: the client's if it is valid, else a new one. */
export const requestIdOf = (request: Pick<IncomingMessage, 'headers'>): string => givenId(request) ?? newId()

/** Adds the request ID to every response. */
export function addRequestIds(app: FastifyInstance): void {
  app.decorateRequest('ownId', '')
  app.decorateRequest('accepted', null)
  app.addHook('onRequest', async (request, reply) => {
    // A client may reuse its IDs, so rows refer to our own.
    request.ownId = givenId(request.raw) === null ? request.id : newId()
    reply.header(HEADERS.requestId, request.id)
  })
}
