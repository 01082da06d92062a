import type { FastifyInstance, FastifyRequest } from 'fastify'
import { HEADERS } from '../../api/headers.ts'
import { authenticate, type Caller } from '../services/authenticate.ts'
import type { ServiceDeps } from '../services/services.ts'

/** Every route says who may use it before it can be registered; keys are checked before a body is read. */
export function addAuthentication(app: FastifyInstance, { store, now }: Pick<ServiceDeps, 'store' | 'now'>): void {
  app.decorateRequest('caller', null)
  app.addHook('onRoute', (route) => {
    if (route.config?.access === undefined) throw new Error(`the route ${route.url} declares no access`)
  })
  app.addHook('onRequest', async (request) => {
    // Undefined only where no route was found: that is answered with 404.
    const { access } = request.routeOptions.config
    if (access === undefined || access === 'public' || request.method === 'OPTIONS') return
    const header = request.headers[HEADERS.apiKey]
    request.caller = await authenticate(store.db, header === undefined ? undefined : String(header), access, now())
  })
}

/** The caller of a route that isn't public. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw new Error(`the route ${request.routeOptions.url} is public`)
  return request.caller
}
