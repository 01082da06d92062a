import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Log } from '../log.ts'

const MAX_PATH = 200

/**
 * Returns the route of a request, or its path if no route matches. Omits the query, because it may contain a signature.
 */
function routeOrPath({ routeOptions, url }: FastifyRequest): { route: string } | { path: string } {
  const { url: route } = routeOptions
  return route === undefined ? { path: (url.split('?', 1)[0] ?? '').slice(0, MAX_PATH) } : { route }
}

/** Logs one line for every request when its response is sent, without headers and bodies. */
export function addRequestLog(app: FastifyInstance, log: Log): void {
  app.addHook('onResponse', async (request, reply) => {
    const { id, method, caller, accepted } = request
    const logFields = {
      request: id,
      method,
      ...routeOrPath(request),
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 10) / 10,
      ...(caller === null ? {} : { account: caller.accountId }),
      // Log the ID to which database rows and log lines of the pipeline refer.
      ...(accepted === null || accepted === id ? {} : { accepted }),
    }
    log.info(logFields, 'request')
  })
}
