import type { FastifyInstance } from 'fastify'
import type { RegisteredRoute } from '../../api/openapi/document.ts'

/**
 * `GET /openapi.json`: the part of the contract that this server implements. Call it before any route is registered.
 */
export function addOpenApi(app: FastifyInstance, version: string, names: readonly string[]): void {
  const routes: RegisteredRoute[] = []
  app.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat()) routes.push({ method: one, url })
  })
  let document: Promise<string> | undefined
  const build = async () => {
    const { buildOpenApi } = await import('../../api/openapi/document.ts')
    return JSON.stringify(await buildOpenApi(routes, version, names))
  }
  app.get('/openapi.json', { config: { access: 'public', errorForm: 'A' } }, async (_request, reply) => {
    // Generated on the first request, when every route is registered.
    document ??= build()
    return reply.type('application/json; charset=utf-8').send(await document)
  })
}
