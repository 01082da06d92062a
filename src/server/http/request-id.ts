import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { HEADERS } from '../../api/headers.ts'
import { newId } from '../../core/ids.ts'

/** Matches a valid client request ID: a short ID without characters that could break a log or a shell. */
const VALID_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/

function readClientId({ headers }: Pick<IncomingMessage, 'headers'>): string | null {
  const id = headers[HEADERS.requestId]
  return typeof id === 'string' && VALID_ID.test(id) ? id : null
}

/**
 * Returns the ID of a request in the log and in its response. Uses the client's ID if it is valid, or else a new ID.
 */
export const chooseRequestId = (request: Pick<IncomingMessage, 'headers'>): string => readClientId(request) ?? newId()

/** Adds the request ID to every response. */
export function addRequestIds(app: FastifyInstance): void {
  app.decorateRequest('ownId', '')
  app.decorateRequest('accepted', null)
  app.decorateRequest('heldMs', 0)
  app.addHook('onRequest', async (request, reply) => {
    // Rows refer to an ID that this server generates, because a client may reuse its IDs.
    request.ownId = readClientId(request.raw) === null ? request.id : newId()
    reply.header(HEADERS.requestId, request.id)
  })
}
