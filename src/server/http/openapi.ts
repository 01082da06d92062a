import type { FastifyInstance } from 'fastify'
import { ERROR_TITLES } from '../../api/errors.ts'
import type { OpenApiOptions, RegisteredRoute } from '../../api/openapi/document.ts'
import { API_VERSIONS, type ApiVersion } from '../../api/versions.ts'
import { Refusal } from '../services/refusals.ts'

/**
 * Adds `GET /openapi.json`: the part of the contract that this server implements, in the server's version of the API or
 * in `?api_version=`. Must be called before any other route is registered.
 */
export function addOpenApi(app: FastifyInstance, options: OpenApiOptions & { apiVersion: ApiVersion }): void {
  const routes: RegisteredRoute[] = []
  app.addHook('onRoute', ({ method, url }) => {
    for (const verb of [method].flat()) routes.push({ method: verb, url })
  })
  const documents = new Map<ApiVersion, Promise<string>>()
  const build = async (apiVersion: ApiVersion) => {
    const { buildOpenApi } = await import('../../api/openapi/document.ts')
    return JSON.stringify(await buildOpenApi(routes, { ...options, apiVersion }))
  }
  app.get('/openapi.json', { config: { access: 'public', errorForm: 'A' } }, async (request, reply) => {
    const { api_version: requestedVersion = options.apiVersion } = request.query as { api_version?: string }
    const apiVersion = API_VERSIONS.find((version) => version === requestedVersion)
    if (apiVersion === undefined) {
      throw new Refusal(400, ERROR_TITLES.validation, `api_version must be one of ${API_VERSIONS.join(', ')}`)
    }
    // Generate the document on the first request, when every route is registered.
    const document = documents.get(apiVersion) ?? build(apiVersion)
    documents.set(apiVersion, document)
    return reply.type('application/json; charset=utf-8').send(await document)
  })
}
