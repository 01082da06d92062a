import type { FastifyInstance } from 'fastify'

/** Why the backend can't do its work at this moment; empty when it can. */
export type Readiness = () => Promise<readonly string[]>

export function addHealthRoutes(app: FastifyInstance, version: string, readiness: Readiness): void {
  const config = { access: 'public', errorForm: 'A' } as const
  app.get('/healthz', { config }, () => ({ status: 'ok', version }))
  app.get('/readyz', { config }, async (_request, reply) => {
    const problems = await readiness()
    return reply.code(problems.length === 0 ? 200 : 503).send({ ready: problems.length === 0, problems })
  })
}
