import type { Providers } from '../../rpc/providers.ts'
import type { RpcCall } from '../../rpc/rpc-answer.ts'
import { answerOf, isTooMuch, NodeFailed, passing } from './answers.ts'

/** Maximum number of calls that one node answers together. */
export const MAX_BATCH = 100

/** Sends the calls of a batch in as many requests as a node needs, and remembers how many it accepts in one. */
export function createBatches(
  post: (url: string, body: unknown) => Promise<unknown>,
  providers: Pick<Providers, 'of'>,
): { send(url: string, calls: readonly RpcCall[]): Promise<unknown[]> } {
  /** Limits of nodes that accept fewer calls per request. */
  const limits = new Map<string, number>()
  const limitOf = (url: string) => Math.min(limits.get(url) ?? MAX_BATCH, providers.of(url).callsAtOnce)

  /** Returns the responses of one node, in the order of the calls. */
  const send = async (url: string, calls: readonly RpcCall[]): Promise<unknown[]> => {
    const limit = limitOf(url)
    if (calls.length > limit) {
      const replies: unknown[] = []
      while (replies.length < calls.length) {
        replies.push(...(await send(url, calls.slice(replies.length, replies.length + limitOf(url)))))
      }
      return replies
    }
    const bodies = calls.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params }))
    const [only] = bodies
    if (only !== undefined && limit === 1) return [await post(url, only)]
    const reply = await post(url, bodies)
    if (Array.isArray(reply)) {
      if (reply.length !== calls.length) throw new NodeFailed('a node returned an invalid response to a batch')
      const byId = new Map(reply.map((answer: { id?: unknown } | null) => [answer?.id, answer]))
      return bodies.map(({ id }) => byId.get(id))
    }
    // A single error for the whole batch: one call exceeds a limit, the rate limit is reached, or the batch is too
    // long.
    if (reply !== null) {
      const answer = passing(answerOf(reply, 'a batch'))
      if ('error' in answer && isTooMuch(answer.error) && !/batch/i.test(answer.error.message)) {
        return calls.map(() => reply)
      }
    }
    limits.set(url, Math.max(1, Math.floor(calls.length / 2)))
    return await send(url, calls)
  }

  return { send }
}
