import { Agent, request } from 'undici'
import { backoffMs } from '../../../../core/backoff.ts'
import { GdnError, messageOf } from '../../../../core/errors.ts'
import { parseRetryAfter, sleep } from '../../../../core/time.ts'
import type { Providers, RpcOutcome } from '../../rpc/providers.ts'
import type { RpcAnswer, RpcCall } from '../../rpc/rpc-answer.ts'
import { answerOf, isTooMuch, NodeFailed, outcomeOf, passing } from './answers.ts'

/** What tells one network from another. */
export interface Identity {
  /** The method by which a node says it; it takes no parameters. */
  method: string
  /** Null where the answer is that of the right network, else what is wrong with it: `is of chain 1, not of 137`. */
  problem(result: unknown): string | null
}

export interface RemoteRpcOptions {
  /** One or more nodes of the same network; when one fails, the next is asked. */
  urls: readonly string[]
  identity: Identity
  /** Milliseconds that one answer may take. */
  timeoutMs: number
  /** How often a request is sent before it counts as failed. */
  tries: number
  /** Milliseconds before the second try; twice as long before each later one. */
  retryMs: number
  /** How often each may be asked, and which wants to be left alone. */
  providers: Providers
  onRequest: (host: string, outcome: RpcOutcome) => void
}

/** JSON-RPC with a network behind URLs. What no node answered rejects with GdnError `unreachable`. */
export interface RemoteRpc {
  /** @throws RpcError when the node refuses */
  call<Result>(method: string, params: readonly unknown[]): Promise<Result>
  /**
   * The answers in the order of the calls. Up to 100 calls are answered by one node and so belong together, in as many
   * requests as it wants.
   *
   * @param options.refusals what a node calls an internal error is its answer: some call every refusal so
   */
  batch(calls: readonly RpcCall[], options?: { refusals?: boolean }): Promise<RpcAnswer[]>
  close(): Promise<void>
}

const LONGEST_RETRY_MS = 10_000
const MAX_BATCH = 100
const MAX_ANSWER_BYTES = 64 * 1024 * 1024
/** A request waits for so long where every provider wants to be left alone; what takes longer is tried again later. */
const PATIENCE_MS = 3_000
const TOO_MANY_REQUESTS = 429
const TOO_LARGE = 413

/**
 * Everything that goes through here may be sent twice: reads, and signed transactions, of which a network takes one of
 * the same bytes. So a request without an answer is sent again, to the next node where there are several.
 *
 * Before anything else each node has to say that it is of the right network.
 */
export function connectRemote(options: RemoteRpcOptions): RemoteRpc {
  const { urls, identity, timeoutMs, tries, retryMs, providers, onRequest } = options
  const agent = new Agent({ connections: 16, maxResponseSize: MAX_ANSWER_BYTES, connectTimeout: timeoutMs })
  const checked = new Map<string, Promise<void>>()
  const closing = new AbortController()
  const inFlight = new Set<AbortController>()
  /** Of nodes that take fewer calls in a request than we would send: how many. */
  const batchLimits = new Map<string, number>()
  let first = 0

  const post = async (url: string, body: unknown): Promise<unknown> => {
    const provider = providers.of(url)
    await provider.enter(Array.isArray(body) ? body.length : 1, closing.signal)
    try {
      const reply = await send(url, body)
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

  const send = async (url: string, body: unknown): Promise<unknown> => {
    // A URL can hold a provider's key, so no message quotes more of it than the host.
    const { host } = new URL(url)
    // By hand: on Node 20 a garbage collection ends AbortSignal.any of an AbortSignal.timeout, which then never fires.
    const cut = new AbortController()
    let late = false
    const timer = setTimeout(() => {
      late = true
      cut.abort()
    }, timeoutMs)
    inFlight.add(cut)
    let text: string
    let refused: number | null = null
    try {
      const response = await request(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify(body),
        dispatcher: agent,
        signal: cut.signal,
      })
      text = await response.body.text()
      const { statusCode, headers } = response
      if (statusCode === TOO_LARGE) return null
      if (statusCode >= 300) refused = statusCode
      if (statusCode === TOO_MANY_REQUESTS || statusCode >= 500) {
        const restMs = parseRetryAfter([headers['retry-after']].flat()[0], Date.now())
        const limited = statusCode === TOO_MANY_REQUESTS || restMs !== null
        throw new NodeFailed(`the node at ${host} answered ${statusCode}`, { limited, restMs })
      }
    } catch (cause) {
      if (cause instanceof GdnError) throw cause
      const why = late ? `gave no answer in ${timeoutMs} ms` : `doesn't answer (${messageOf(cause)})`
      throw new NodeFailed(`the node at ${host} ${why}`, { cause })
    } finally {
      clearTimeout(timer)
      inFlight.delete(cut)
    }
    try {
      return JSON.parse(text)
    } catch (cause) {
      const what = refused ?? 'something else than JSON'
      throw new NodeFailed(`the node at ${host} answered ${what}`, { cause })
    }
  }

  /** Once for each node, whoever asks. */
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
    const answer = answerOf(reply)
    const { host } = new URL(url)
    if ('error' in answer) throw new NodeFailed(`the node at ${host} doesn't tell its chain`, { cause: answer.error })
    const problem = identity.problem(answer.result)
    if (problem === null) return
    throw new GdnError('invalid_config', `the node at ${host} ${problem}`, {
      hint: 'give an RPC URL of the right network',
    })
  }

  /** The first that doesn't want to be left alone and hasn't failed this request, from the one on that answered last. */
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
        throw new NodeFailed(`the provider at ${host} asks to be left alone for ${Math.ceil(restMs / 1000)} s`)
      }
      if (restMs > 0) await sleep(restMs, closing.signal)
      try {
        await check(url)
        return await ask(url)
      } catch (error) {
        if (!(error instanceof GdnError) || error.code !== 'unreachable' || closing.signal.aborted) throw error
        failed.add(url)
        // Requests that fail at the same time pass over one node together, not one each: they would come round to it.
        if (urls[first % urls.length] === url) first += 1
        if (attempt === tries) throw error
        // Another node is asked at once. One that has failed, because the others have too or aren't to be asked now,
        // wants a pause.
        if (failed.has(choose(failed)))
          await sleep(backoffMs(attempt, { firstMs: retryMs, maxMs: LONGEST_RETRY_MS, jitter: 0 }), closing.signal)
      }
    }
  }

  const batchLimit = (url: string) => Math.min(batchLimits.get(url) ?? MAX_BATCH, providers.of(url).callsAtOnce)

  /** All by one node, in as many requests as it wants. */
  const some = async (url: string, calls: readonly RpcCall[]): Promise<unknown[]> => {
    const limit = batchLimit(url)
    if (calls.length > limit) {
      const parts: unknown[] = []
      while (parts.length < calls.length) {
        parts.push(...(await some(url, calls.slice(parts.length, parts.length + batchLimit(url)))))
      }
      return parts
    }
    const bodies = calls.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params }))
    const [only] = bodies
    if (only !== undefined && limit === 1) return [await post(url, only)]
    const reply = await post(url, bodies)
    if (Array.isArray(reply)) {
      if (reply.length !== calls.length) throw new NodeFailed('a batch was answered oddly')
      const byId = new Map(reply.map((one: { id?: unknown } | null) => [one?.id, one]))
      return bodies.map(({ id }) => byId.get(id))
    }
    // One answer for all of them: what one asks for is too much, a provider's limit is reached, or the batch is too long.
    if (reply !== null) {
      const answer = passing(answerOf(reply))
      if ('error' in answer && isTooMuch(answer.error) && !/batch/i.test(answer.error.message)) {
        return calls.map(() => reply)
      }
    }
    batchLimits.set(url, Math.max(1, Math.floor(calls.length / 2)))
    return await some(url, calls)
  }

  return {
    async call<Result>(method: string, params: readonly unknown[]) {
      const body = { jsonrpc: '2.0', id: 0, method, params }
      const answer = await exchange(async (url) => passing(answerOf(await post(url, body))))
      if ('error' in answer) throw answer.error
      return answer.result as Result
    },
    async batch(calls, options) {
      const answers: RpcAnswer[] = []
      for (let at = 0; at < calls.length; at += MAX_BATCH) {
        const replies = await exchange(async (url) => {
          const found = await some(url, calls.slice(at, at + MAX_BATCH))
          return found.map((reply) => passing(answerOf(reply), options))
        })
        answers.push(...replies)
      }
      return answers
    },
    async close() {
      closing.abort(new NodeFailed('the network is closed'))
      for (const cut of inFlight) cut.abort()
      await agent.destroy()
    },
  }
}
