import { setMaxListeners } from 'node:events'
import { backoffMs } from '../../../../core/backoff.ts'
import { chunksOf } from '../../../../core/chunks-of.ts'
import { GdnError } from '../../../../core/errors.ts'
import { sleep } from '../../../../core/time.ts'
import type { Providers, RpcOutcome } from '../../rpc/providers.ts'
import type { RpcCall, RpcResponse } from '../../rpc/rpc-response.ts'
import { createBatches, MAX_CALLS_PER_BATCH } from './batches.ts'
import { openNodeConnections } from './node-connections.ts'
import { classifyResponse, NodeFailedError, parseRpcResponse, throwNodeFailures } from './responses.ts'

/** The check that a node belongs to the expected network. */
export interface NodeIdentity {
  /** The method that returns the identity of a node's network. It has no parameters. */
  method: string
  /**
   * Returns why a node's network is the wrong one, such as `belongs to chain 1, not 137`; null if it is the right one.
   */
  problem(result: unknown): string | null
}

export interface RemoteRpcOptions {
  /** The URLs of nodes of the same network. If one fails, the next is used. */
  urls: readonly string[]
  identity: NodeIdentity
  /** Timeout of one response in milliseconds. Default: 10 s. */
  timeoutMs?: number | undefined
  /** Number of attempts before a request fails. Default: 4. */
  maxAttempts?: number | undefined
  /** Delay before the second attempt in milliseconds. It doubles for each later attempt. Default: 200. */
  retryMs?: number | undefined
  /** The rate limits of the RPC providers, and the pauses between requests to them. */
  providers: Providers
  onRequest: (host: string, outcome: RpcOutcome) => void
  /** Aborts every request. The signal's reason becomes the error. */
  signal?: AbortSignal | undefined
}

/** JSON-RPC connection to the nodes of a network. Rejects with GdnError `unreachable` if no node responds. */
export interface RemoteRpc {
  /**
   * Calls a method.
   *
   * @throws RpcError if the node returns an error
   */
  call<Result>(method: string, params: readonly unknown[]): Promise<Result>
  /**
   * Returns the responses in the order of the calls. One node responds to each group of up to 100 calls, in as many
   * requests as it needs, so that the results are consistent.
   *
   * @param options.refusals whether an internal error of a node counts as its response. Some nodes report every
   * rejection as an internal error
   */
  batch(calls: readonly RpcCall[], options?: { refusals?: boolean }): Promise<RpcResponse[]>
  close(): Promise<void>
}

const TIMEOUT_MS = 10_000
const MAX_ATTEMPTS = 4
const RETRY_MS = 200
const MAX_RETRY_MS = 10_000
/**
 * Maximum wait in milliseconds if every provider is paused. If the pauses are longer, the request fails and is retried
 * later.
 */
const MAX_PAUSE_MS = 3_000

/**
 * Connects to a network. Every request can safely be sent twice: reads have no effect, and a network accepts the same
 * signed bytes only once. A request without a response is therefore retried, on the next node if there are several.
 *
 * Each node must prove that it belongs to the right network before its first request, and again after a connection was
 * closed.
 */
export function connectRemote(options: RemoteRpcOptions): RemoteRpc {
  const { urls, identity, providers, onRequest, signal } = options
  const { timeoutMs = TIMEOUT_MS, maxAttempts = MAX_ATTEMPTS, retryMs = RETRY_MS } = options
  const checked = new Map<string, Promise<void>>()
  const closing = new AbortController()
  let preferredIndex = 0

  const post = async (url: string, body: unknown): Promise<unknown> => {
    const provider = providers.of(url)
    await provider.enter(Array.isArray(body) ? body.length : 1, closing.signal)
    try {
      const responseBody = await connections.send(url, body)
      const outcome = classifyResponse(responseBody)
      onRequest(provider.host, outcome)
      if (outcome === 'limited') provider.limited(null)
      else provider.responded()
      return responseBody
    } catch (error) {
      const limited = error instanceof NodeFailedError && error.limited
      if (limited) provider.limited(error.restMs)
      onRequest(provider.host, limited ? 'limited' : 'failed')
      throw error
    }
  }

  const connections = openNodeConnections({
    timeoutMs,
    // Another network may respond at the same address later, for example behind a tunnel, or after a change at a
    // provider.
    onDisconnect(origin) {
      for (const url of urls) if (new URL(url).origin === origin) checked.delete(url)
    },
  })
  const batches = createBatches(post, providers)

  /** Checks the chain of a node once, and again after a lost connection. */
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
    const body = await post(url, { jsonrpc: '2.0', id: 0, method: identity.method, params: [] })
    const response = parseRpcResponse(body, identity.method)
    const { host } = new URL(url)
    if ('error' in response) {
      const { error: cause } = response
      throw new NodeFailedError(`the node at ${host} does not identify its network: ${cause.message}`, { cause })
    }
    const problem = identity.problem(response.result)
    if (problem === null) return
    throw new GdnError('invalid_config', `the node at ${host} ${problem}`, {
      hint: 'Configure an RPC URL of the right network.',
    })
  }

  /**
   * Returns the node with the shortest pause, and prefers nodes that haven't failed this request. If several are equal,
   * returns the one that responded last.
   */
  const choose = (failed: ReadonlySet<string>): string => {
    const inOrder = urls.map((_, index) => urls[(preferredIndex + index) % urls.length] ?? '')
    const rest = (url: string) => providers.of(url).restMs()
    const failures = (url: string) => (failed.has(url) ? 1 : 0)
    return inOrder.reduce((best, url) => ((rest(url) - rest(best) || failures(url) - failures(best)) < 0 ? url : best))
  }

  const exchange = async <Result>(ask: (url: string) => Promise<Result>): Promise<Result> => {
    const failed = new Set<string>()
    for (let attempt = 1; ; attempt++) {
      const url = choose(failed)
      const restMs = providers.of(url).restMs()
      if (restMs > MAX_PAUSE_MS) {
        const { host } = new URL(url)
        throw new NodeFailedError(`the provider at ${host} rejects requests for another ${Math.ceil(restMs / 1000)} s`)
      }
      if (restMs > 0) await sleep(restMs, closing.signal)
      try {
        await check(url)
        return await ask(url)
      } catch (error) {
        if (closing.signal.aborted) throw closing.signal.reason
        if (!(error instanceof GdnError) || error.code !== 'unreachable') throw error
        failed.add(url)
        // Requests that fail at the same time must advance by one node together. If each advanced, they could return to
        // the failed node.
        if (urls[preferredIndex % urls.length] === url) preferredIndex += 1
        if (attempt === maxAttempts) throw error
        // Use another node at once. Wait before a retry only if all have failed or are paused.
        if (failed.has(choose(failed)))
          await sleep(backoffMs(attempt, { firstMs: retryMs, maxMs: MAX_RETRY_MS, jitter: 0 }), closing.signal)
      }
    }
  }

  const close = async (reason: unknown) => {
    closing.abort(reason)
    await connections.close()
  }
  // Each request that waits for a retry adds a listener, so disable the warning about too many listeners.
  setMaxListeners(0, closing.signal)
  const onAbort = () => void close(signal?.reason)
  if (signal?.aborted) onAbort()
  else signal?.addEventListener('abort', onAbort, { once: true })

  return {
    async call<Result>(method: string, params: readonly unknown[]) {
      const body = { jsonrpc: '2.0', id: 0, method, params }
      const response = await exchange(async (url) => throwNodeFailures(parseRpcResponse(await post(url, body), method)))
      if ('error' in response) throw response.error
      return response.result as Result
    },
    async batch(calls, options) {
      const responses: RpcResponse[] = []
      for (const chunk of chunksOf(calls, MAX_CALLS_PER_BATCH)) {
        const part = await exchange(async (url) => {
          const bodies = await batches.send(url, chunk)
          return chunk.map(({ method }, index) => throwNodeFailures(parseRpcResponse(bodies[index], method), options))
        })
        responses.push(...part)
      }
      return responses
    },
    async close() {
      signal?.removeEventListener('abort', onAbort)
      await close(new NodeFailedError('the connection to the network was closed'))
    },
  }
}
