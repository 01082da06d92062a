import { setMaxListeners } from 'node:events'
import { backoffMs } from '../../../../core/backoff.ts'
import { GdnError } from '../../../../core/errors.ts'
import { sleep } from '../../../../core/time.ts'
import type { Providers, RpcOutcome } from '../../rpc/providers.ts'
import type { RpcAnswer, RpcCall } from '../../rpc/rpc-answer.ts'
import { answerOf, NodeFailed, outcomeOf, passing } from './answers.ts'
import { createBatches, MAX_BATCH } from './batches.ts'
import { openNodeConnections } from './node-connections.ts'

/** How to identify the network of a node. */
export interface Identity {
  /** The method that returns the identity of a node's network; it has no parameters. */
  method: string
  /** Returns null for the right network, else the problem: `belongs to chain 1, not 137`. */
  problem(result: unknown): string | null
}

export interface RemoteRpcOptions {
  /** One or more nodes of the same network. If one fails, the next is used. */
  urls: readonly string[]
  identity: Identity
  /** Timeout of one response in milliseconds. */
  timeoutMs: number
  /** Number of attempts before a request fails. */
  tries: number
  /** Milliseconds before the second attempt, doubled before each later one. */
  retryMs: number
  /** Rate limits and pauses of the providers. */
  providers: Providers
  onRequest: (host: string, outcome: RpcOutcome) => void
  /** Ends every request, with its reason as the error. */
  signal?: AbortSignal | undefined
}

/** JSON-RPC with a network behind URLs. It rejects with GdnError `unreachable` if no node responds. */
export interface RemoteRpc {
  /** @throws RpcError if the node returns an error */
  call<Result>(method: string, params: readonly unknown[]): Promise<Result>
  /**
   * Returns the responses in the order of the calls. Up to 100 calls are answered by one node, so they are consistent,
   * in as many requests as the node needs.
   *
   * @param options.refusals treat what a node calls an internal error as its response: some report every rejection so
   */
  batch(calls: readonly RpcCall[], options?: { refusals?: boolean }): Promise<RpcAnswer[]>
  close(): Promise<void>
}

const LONGEST_RETRY_MS = 10_000
/** Maximum wait if every provider is paused; longer pauses fail the request, which is retried later. */
const PATIENCE_MS = 3_000

/**
 * Every request here may be sent twice: reads, and signed transactions, of which a network accepts the same bytes once.
 * A request without a response is therefore retried, on the next node if there are several.
 *
 * Before any other request, each node has to return the right network, and again after a connection to it ended.
 */
export function connectRemote(options: RemoteRpcOptions): RemoteRpc {
  const { urls, identity, timeoutMs, tries, retryMs, providers, onRequest, signal } = options
  const checked = new Map<string, Promise<void>>()
  const closing = new AbortController()
  let first = 0

  const post = async (url: string, body: unknown): Promise<unknown> => {
    const provider = providers.of(url)
    await provider.enter(Array.isArray(body) ? body.length : 1, closing.signal)
    try {
      const reply = await connections.send(url, body)
      const outcome = outcomeOf(reply)
      onRequest(provider.host, outcome)
      if (outcome === 'limited') provider.limited(null)
      else provider.answered()
      return reply
    } catch (error) {
      const limited = error instanceof NodeFailed && error.limited
      if (limited) provider.limited(error.restMs)
      onRequest(provider.host, limited ? 'limited' : 'failed')
      throw error
    }
  }

  const connections = openNodeConnections({
    timeoutMs,
    // Another network may respond at the same address later: behind a tunnel or a port, or after a change at a
    // provider.
    onDisconnect(origin) {
      for (const url of urls) if (new URL(url).origin === origin) checked.delete(url)
    },
  })
  const batches = createBatches(post, providers)

  /** Checks the chain of a node, before its first request and after a lost connection. */
  const check = (url: string): Promise<void> => {
    let checking = checked.get(url)
    if (checking === undefined) {
      checking = askChain(url)
      checked.set(url, checking)
      checking.catch(() => checked.delete(url))
    }
    return checking
  }

  const askChain = async (url: string): Promise<void> => {
    const reply = await post(url, { jsonrpc: '2.0', id: 0, method: identity.method, params: [] })
    const answer = answerOf(reply, identity.method)
    const { host } = new URL(url)
    if ('error' in answer)
      throw new NodeFailed(`the node at ${host} does not return its chain`, { cause: answer.error })
    const problem = identity.problem(answer.result)
    if (problem === null) return
    throw new GdnError('invalid_config', `the node at ${host} ${problem}`, {
      hint: 'Configure an RPC URL of the right network.',
    })
  }

  /**
   * Returns the first node that isn't paused and hasn't failed this request, starting with the last one that responded.
   */
  const choose = (failed: ReadonlySet<string>): string => {
    const inOrder = urls.map((_, index) => urls[(first + index) % urls.length] ?? '')
    const rest = (url: string) => providers.of(url).restMs()
    const again = (url: string) => (failed.has(url) ? 1 : 0)
    return inOrder.reduce((best, url) => ((rest(url) - rest(best) || again(url) - again(best)) < 0 ? url : best))
  }

  const exchange = async <Result>(ask: (url: string) => Promise<Result>): Promise<Result> => {
    const failed = new Set<string>()
    for (let attempt = 1; ; attempt++) {
      const url = choose(failed)
      const restMs = providers.of(url).restMs()
      if (restMs > PATIENCE_MS) {
        const { host } = new URL(url)
        throw new NodeFailed(`the provider at ${host} rejects requests for another ${Math.ceil(restMs / 1000)} s`)
      }
      if (restMs > 0) await sleep(restMs, closing.signal)
      try {
        await check(url)
        return await ask(url)
      } catch (error) {
        if (closing.signal.aborted) throw closing.signal.reason
        if (!(error instanceof GdnError) || error.code !== 'unreachable') throw error
        failed.add(url)
        // Requests that fail at the same time advance by one node together; if each advanced, they would return to the
        // failed node.
        if (urls[first % urls.length] === url) first += 1
        if (attempt === tries) throw error
        // Another node is used at once. If all have failed or are paused, the retry waits.
        if (failed.has(choose(failed)))
          await sleep(backoffMs(attempt, { firstMs: retryMs, maxMs: LONGEST_RETRY_MS, jitter: 0 }), closing.signal)
      }
    }
  }

  const close = async (reason: unknown) => {
    closing.abort(reason)
    await connections.close()
  }
  // Each request that waits for its retry listens to it.
  setMaxListeners(0, closing.signal)
  const cut = () => void close(signal?.reason)
  if (signal?.aborted) cut()
  else signal?.addEventListener('abort', cut, { once: true })

  return {
    async call<Result>(method: string, params: readonly unknown[]) {
      const body = { jsonrpc: '2.0', id: 0, method, params }
      const answer = await exchange(async (url) => passing(answerOf(await post(url, body), method)))
      if ('error' in answer) throw answer.error
      return answer.result as Result
    },
    async batch(calls, options) {
      const answers: RpcAnswer[] = []
      for (let at = 0; at < calls.length; at += MAX_BATCH) {
        const part = await exchange(async (url) => {
          const asked = calls.slice(at, at + MAX_BATCH)
          const replies = await batches.send(url, asked)
          return asked.map(({ method }, index) => passing(answerOf(replies[index], method), options))
        })
        answers.push(...part)
      }
      return answers
    },
    async close() {
      signal?.removeEventListener('abort', cut)
      await close(new NodeFailed('the network is closed'))
    },
  }
}
