import { createServer, type ServerResponse } from 'node:http'
import { messageOf } from '../../core/errors.ts'
import type { Metrics } from '../metrics/types.ts'
import type { Readiness } from '../readiness.ts'
import type { BackendIdentity } from '../store/identity.ts'
import { healthBody, readinessResponse } from './health.ts'
import { listen } from './listen.ts'

export interface Health {
  version: string
  identity: BackendIdentity
  readiness: Readiness
  metrics: Pick<Metrics, 'scrape'>
}

/** Serves /healthz, /readyz and /metrics for a process that has no API. */
export async function startHealthServer(
  address: { host: string; port: number },
  health: Health,
): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer({ requestTimeout: 10_000 }, (request, response) => {
    // Some monitors send HEAD. For HEAD, Node.js omits the body of the response.
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    const [path = ''] = isRead ? (request.url ?? '').split('?') : []
    respond(health, path, response).catch((error) => send(response, 503, { error: messageOf(error) }))
  })
  const { url } = await listen(
    {
      server,
      listen: (at) =>
        new Promise((resolve, reject) => {
          server.once('error', reject)
          server.listen(at, () => resolve(''))
        }),
    },
    { ...address, scheme: 'http' },
  )
  return {
    url,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function respond(
  { version, identity, readiness, metrics }: Health,
  path: string,
  response: ServerResponse,
): Promise<void> {
  if (path === '/healthz') return send(response, 200, healthBody(version, identity))
  if (path === '/readyz') {
    const { status, body } = await readinessResponse(readiness)
    return send(response, status, body)
  }
  if (path !== '/metrics') return send(response, 404, { error: 'this path does not exist' })
  const { text, type } = await metrics.scrape()
  response.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' }).end(text)
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
  response.end(JSON.stringify(body))
}
