import type { FastifyInstance } from 'fastify'
import type { Metrics } from '../metrics/types.ts'

/** Adds hooks that count every request, and the route `GET /metrics`. */
export function addMetrics(app: FastifyInstance, metrics: Metrics): void {
  app.addHook('onResponse', async (request, reply) => {
    // Use the route as the label instead of the path, so that requests can't create new series.
    const route = (request.routeOptions.url ?? 'none').replace(/(.)\/$/, '$1')
    const { method } = request
    const seconds = (reply.elapsedTime - request.heldMs) / 1000
    metrics.observe({ what: 'request', method, route, status: reply.statusCode, seconds })
  })
  app.get('/metrics', { config: { access: 'public', errorForm: 'A' } }, async (_request, reply) => {
    const { text, type } = await metrics.scrape()
    return reply.header('cache-control', 'no-store').type(type).send(text)
  })
}
