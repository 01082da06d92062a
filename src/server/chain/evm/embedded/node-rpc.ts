import { Agent, request } from 'node:http'
import { GdnError, messageOf } from '../../../../core/errors.ts'
import { RPC_ERRORS, type RpcCall, RpcError, type RpcResponse } from '../../rpc/rpc-response.ts'
import type { NodeAddress } from './node-address.ts'

/**
 * JSON-RPC connection to one anvil process. Rejects with GdnError `unreachable` on any failure except an error that the
 * node returns.
 */
export interface NodeRpc {
  /**
   * Calls a method.
   *
   * @throws RpcError if the node returns an error
   */
  call<Result>(method: string, params?: readonly unknown[]): Promise<Result>
  /** Sends calls in one HTTP request. Returns the responses in the order of the calls. */
  batch(calls: readonly RpcCall[]): Promise<RpcResponse[]>
  close(): void
}

/** Timeout of a request in milliseconds. It is longer than the most expensive valid call takes. */
const TIMEOUT_MS = 60_000

/**
 * Connects to a node with `node:http` and keep-alive. In measurements, a call takes 180 µs, compared with 340 µs with
 * an undici pool. The difference matters because every block needs three sequential calls.
 */
export function connectNode(port: number, host = '127.0.0.1'): NodeRpc {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 })
  const post = (body: unknown) => postJson(agent, { host, port }, body)
  return {
    async call<Result>(method: string, params: readonly unknown[] = []) {
      const response = parseNodeResponse(await post({ jsonrpc: '2.0', id: 0, method, params }))
      if ('error' in response) throw response.error
      return response.result as Result
    },
    async batch(calls) {
      if (calls.length === 0) return []
      const body = await post(calls.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params })))
      if (!Array.isArray(body) || body.length !== calls.length)
        throw nodeUnreachableError('returned an invalid response to a batch')
      const responses = new Map(body.map((response: { id: number }) => [response.id, response]))
      return calls.map((_, id) => parseNodeResponse(responses.get(id)))
    },
    close: () => agent.destroy(),
  }
}

export function nodeUnreachableError(problem: string, cause?: unknown): GdnError {
  return new GdnError('unreachable', `the embedded chain ${problem}`, { hint: 'Try again.', cause })
}

function parseNodeResponse(response: unknown): RpcResponse {
  const { result, error } = (response ?? {}) as { result?: unknown; error?: Partial<RpcError> }
  if (error !== undefined)
    return { error: new RpcError(error.code ?? RPC_ERRORS.internal, error.message ?? '', error.data) }
  if (result === undefined) throw nodeUnreachableError('returned an invalid response')
  return { result }
}

function postJson(agent: Agent, address: NodeAddress, body: unknown): Promise<unknown> {
  const data = Buffer.from(JSON.stringify(body))
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown) => reject(nodeUnreachableError(`does not respond (${messageOf(cause)})`, cause))
    const headers = { 'content-type': 'application/json', 'content-length': data.length }
    const httpRequest = request({ ...address, agent, method: 'POST', headers, timeout: TIMEOUT_MS }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', fail)
      response.on('end', () => {
        try {
          resolve(JSON.parse(Buffer.concat(chunks).toString()))
        } catch (cause) {
          fail(cause)
        }
      })
    })
    httpRequest.on('timeout', () => httpRequest.destroy(new Error(`no response for ${TIMEOUT_MS / 1000} s`)))
    httpRequest.on('error', fail)
    httpRequest.end(data)
  })
}
