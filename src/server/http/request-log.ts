import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Log } from '../log.ts'

const MAX_PATH = 200

/** What was asked for: the route, or the path where there is none. Never the parameters: some are signatures. */
function placeOf({ routeOptions, url }: FastifyRequest): { route: string } | { path: string } {
  const { url: route } = routeOptions
  return route === undefined ? { path: (url.split('?', 1)[0] ?? '').slice(0, MAX_PATH) } : { route }
}

/** One line for every request when it is answered; no headers, no bodies. */
export function addRequestLog(app: FastifyInstance, log: Log): void {
  app.addHook('onResponse', async (request, reply) => {
    const { id, method, caller, accepted } = request
    const facts = {
      request: id,
      method,
      ...placeOf(request),
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 10) / 10,
      ...(caller === null ? {} : { account: caller.accountId }),
      // Rows of the database, and lines of the pipeline, refer to it.
      ...(accepted === null || accepted === id ? {} : { accepted }),
    }
    log.info(facts, 'request')
  })
}
