import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { RPC_ERRORS, RpcError } from './rpc-response.ts'

export interface LoopbackRpc {
  url: string
  close(): Promise<void>
}

/** Returns the result of a call. Throws an RpcError, or any other error for an internal error. */
export type CallHandler = (method: string, params: readonly unknown[]) => unknown

export const methodNotFoundError = (): RpcError => new RpcError(RPC_ERRORS.methodNotFound, 'method not found')

/** Serves JSON-RPC calls and batches to a process on this machine. */
export async function serveLoopback(handle: CallHandler): Promise<LoopbackRpc> {
  const server = createServer(async (request, response) => {
    const responseBody = await readJson(request).then(
      (body) => (Array.isArray(body) ? Promise.all(body.map((call) => respond(handle, call))) : respond(handle, body)),
      () => ({ jsonrpc: '2.0', id: null, error: { code: RPC_ERRORS.parse, message: 'parse error' } }),
    )
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(responseBody))
  })
  server.keepAliveTimeout = 0
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function respond(handle: CallHandler, call: unknown): Promise<object> {
  const { id = null, method, params } = (call ?? {}) as { id?: unknown; method?: unknown; params?: unknown }
  try {
    if (typeof method !== 'string') throw methodNotFoundError()
    return { jsonrpc: '2.0', id, result: await handle(method, Array.isArray(params) ? params : []) }
  } catch (error) {
    const { code, message, data } =
      error instanceof RpcError ? error : new RpcError(RPC_ERRORS.internal, 'internal error')
    return { jsonrpc: '2.0', id, error: { code, message, data } }
  }
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString())
}
