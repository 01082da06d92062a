import type { Providers } from '../../rpc/providers.ts'
import type { RpcCall } from '../../rpc/rpc-response.ts'
import { isQueryTooLarge, NodeFailedError, parseRpcResponse, throwNodeFailures } from './responses.ts'

/** Maximum number of calls that one node must answer together, so that the results are consistent. */
export const MAX_CALLS_PER_BATCH = 100

/**
 * Returns a function that sends a batch in as many requests as its node needs. The function remembers how many calls
 * each node accepts per request.
 */
export function createBatches(
  post: (url: string, body: unknown) => Promise<unknown>,
  providers: Pick<Providers, 'of'>,
): { send(url: string, calls: readonly RpcCall[]): Promise<unknown[]> } {
  /** Maximum number of calls per request, for each node that accepts fewer calls. */
  const limits = new Map<string, number>()
  const limitOf = (url: string) => Math.min(limits.get(url) ?? MAX_CALLS_PER_BATCH, providers.of(url).callsAtOnce)

  /** Returns the responses of one node, in the order of the calls. */
  const send = async (url: string, calls: readonly RpcCall[]): Promise<unknown[]> => {
    const limit = limitOf(url)
    if (calls.length > limit) {
      const responses: unknown[] = []
      while (responses.length < calls.length) {
        responses.push(...(await send(url, calls.slice(responses.length, responses.length + limitOf(url)))))
      }
      return responses
    }
    const bodies = calls.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params }))
    const [only] = bodies
    if (only !== undefined && limit === 1) return [await post(url, only)]
    const body = await post(url, bodies)
    if (Array.isArray(body)) {
      if (body.length !== calls.length) throw new NodeFailedError('a node returned an invalid response to a batch')
      const byId = new Map(body.map((response: { id?: unknown } | null) => [response?.id, response]))
      return bodies.map(({ id }) => byId.get(id))
    }
    // The node returned a single error for the whole batch. Either one call exceeds a limit, the rate limit is reached,
    // or the batch is too long.
    if (body !== null) {
      const response = throwNodeFailures(parseRpcResponse(body, 'a batch'))
      if ('error' in response && isQueryTooLarge(response.error) && !/batch/i.test(response.error.message)) {
        return calls.map(() => body)
      }
    }
    limits.set(url, Math.max(1, Math.floor(calls.length / 2)))
    return await send(url, calls)
  }

  return { send }
}
