import { createServer } from 'node:http'
import { HEADERS } from '../../src/api/headers.ts'
import { listenLocally } from '../helpers/http-server.ts'
import { Killer, type Service } from '../operations/world.ts'

export interface Served {
  url: string
  /** The identity in responses; null as the hosted service has it. */
  backend: { id: string; incarnation: string } | null
  /** Called before a request is processed. */
  onRequest(path: string): Promise<void> | void
  /** Endpoints in the order in which requests arrived. */
  readonly paths: string[]
  close(): Promise<void>
}

/** Serves a simulated service over HTTP, without rate limits. */
export async function serve(service: Service): Promise<Served> {
  const killer = new Killer()
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const path = (request.url ?? '').replace('/api/v1/', '')
    served.paths.push(path)
    await served.onRequest(path)
    const { backend } = served
    const identity: Record<string, string> =
      backend === null ? {} : { [HEADERS.backendId]: backend.id, [HEADERS.incarnation]: backend.incarnation }
    const headers = { 'content-type': 'application/json', 'ratelimit-policy': '"createnft", "getnfts"', ...identity }
    if (request.url === '/healthz') {
      response.writeHead(200, headers)
      response.end(JSON.stringify(backend && { backend_id: backend.id, incarnation: backend.incarnation }))
      return
    }
    try {
      const answer = await service.request(
        {
          method: 'POST',
          url: `http://service${request.url}`,
          headers: request.headers as Record<string, string>,
          body: Buffer.concat(chunks),
          timeoutMs: 1,
          maxBytes: 1,
        },
        killer,
      )
      response.writeHead(answer.status, { ...headers, ...answer.headers }).end(answer.body)
    } catch {
      response.socket?.destroy()
    }
  })
  const { url, close } = await listenLocally(server)
  const served: Served = {
    url,
    backend: null,
    onRequest: () => {},
    paths: [],
    close,
  }
  return served
}
