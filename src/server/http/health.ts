import type { FastifyInstance } from 'fastify'
import type { Readiness } from '../readiness.ts'
import type { BackendIdentity } from '../store/identity.ts'

/** Returns the status and the body of the response to /readyz. */
export async function readinessResponse(readiness: Readiness): Promise<{ status: 200 | 503; body: object }> {
  const { problems, warnings } = await readiness()
  const ready = problems.length === 0
  return { status: ready ? 200 : 503, body: { ready, problems, warnings } }
}

/** Returns the body of a response of /healthz. */
export const healthBody = (version: string, { id, incarnation }: BackendIdentity) => ({
  status: 'ok',
  version,
  backend_id: id,
  incarnation,
})

export function addHealthRoutes(
  app: FastifyInstance,
  { version, identity, readiness }: { version: string; identity: BackendIdentity; readiness: Readiness },
): void {
  const config = { access: 'public', errorForm: 'A' } as const
  app.get('/healthz', { config, exposeHeadRoute: true }, () => healthBody(version, identity))
  app.get('/readyz', { config, exposeHeadRoute: true }, async (_request, reply) => {
    const { status, body } = await readinessResponse(readiness)
    return reply.code(status).header('cache-control', 'no-store').send(body)
  })
}
