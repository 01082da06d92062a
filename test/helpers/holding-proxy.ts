import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

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
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { host: _host, connection: _connection, ...headers } = request.headers
    const exchanged = await fetch(target + (request.url ?? ''), {
      method: request.method ?? 'GET',
      headers: headers as Record<string, string>,
      ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
    })
      .then(async (answer) => ({ answer, body: Buffer.from(await answer.arrayBuffer()) }))
      .catch(() => null)
    // The server was killed.
    if (exchanged === null) return void response.destroy()
    const { answer, body } = exchanged
    if (holding !== null && request.url?.endsWith(`/${holding}`)) {
      open.add(response)
      return tell()
    }
    const { 'transfer-encoding': _encoding, 'content-encoding': _content, ...kept } = Object.fromEntries(answer.headers)
    response.writeHead(answer.status, { ...kept, 'content-length': body.length })
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
