import { createServer, type ServerResponse } from 'node:http'
import { forward } from './forward.ts'
import { listenLocally } from './http-server.ts'

export interface HoldingProxy {
  url: string
  /** Holds responses of this endpoint from now on. With null, holds none. */
  hold(endpoint: string | null): void
  /** Resolves when a request was forwarded and its response is held. */
  held(): Promise<void>
  /** Cuts the connections whose responses are held. */
  cut(): void
  close(): Promise<void>
}

/** A proxy that holds responses: the server executes the request, but the client gets no result. */
export async function startHoldingProxy(target: string): Promise<HoldingProxy> {
  let holding: string | null = null
  let tell: () => void = () => {}
  let kept = new Promise<void>((resolve) => {
    tell = resolve
  })
  const open = new Set<ServerResponse>()
  const server = createServer(async (request, response) => {
    const exchanged = await forward(target, request)
    // The server was killed.
    if (exchanged === null) return void response.destroy()
    if (holding !== null && request.url?.endsWith(`/${holding}`)) {
      open.add(response)
      return tell()
    }
    const { status, headers, body } = exchanged
    response.writeHead(status, { ...headers, 'content-length': body.length })
    response.end(body)
  })
  const { url, close } = await listenLocally(server)
  return {
    url,
    hold(endpoint) {
      holding = endpoint
      kept = new Promise((resolve) => {
        tell = resolve
      })
    },
    held: () => kept,
    cut() {
      for (const response of open) response.destroy()
      open.clear()
    },
    async close() {
      for (const response of open) response.destroy()
      await close()
    },
  }
}
