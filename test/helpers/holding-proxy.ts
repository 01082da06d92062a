import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { forward } from './forward.ts'

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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
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
    close: () =>
      new Promise((resolve) => {
        for (const response of open) response.destroy()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
