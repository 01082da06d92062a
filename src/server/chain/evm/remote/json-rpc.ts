import { Agent, request } from 'undici'
import { GdnError, messageOf } from '../../../../core/errors.ts'
import { sleep } from '../../../../core/time.ts'
import { type RpcAnswer, type RpcCall, RpcError } from '../embedded/node-rpc.ts'

export interface RemoteRpcOptions {
  /** One or more nodes of the same network; when one fails, the next is asked. */
  urls: readonly string[]
  chainId: number
  /** Milliseconds that one answer may take. */
  timeoutMs: number
  /** How often a request is sent before it counts as failed. */
  tries: number
  /** Milliseconds before the second try; twice as long before each later one. */
  retryMs: number
}

/** JSON-RPC with a network behind URLs. What no node answered rejects with GdnError `unreachable`. */
export interface RemoteRpc {
  /** @throws RpcError when the node refuses */
  call<Result>(method: string, params: readonly unknown[]): Promise<Result>
  /** The answers in the order of the calls; up to 100 calls are answered by one node and so belong together. */
  batch(calls: readonly RpcCall[]): Promise<RpcAnswer[]>
  close(): Promise<void>
}

const MAX_BATCH = 100
/** Of what a node says: it goes into the log, and into the reason why an NFT failed. */
const MAX_MESSAGE = 500
const MAX_ANSWER_BYTES = 64 * 1024 * 1024
/** Errors of a node that say "not now": the limit of a provider, an internal fault, a node that is behind. */
const PASSING_CODES = new Set([429, -32005, -32603, -32016])

/**
 * Everything that goes through here may be sent twice: reads, and signed transactions, of which a network takes one of
 * the same bytes. So a request without an answer is sent again, to the next node where there are several.
 *
 * Before anything else each node has to say that it is of the right chain.
 */
export function connectRemote(options: RemoteRpcOptions): RemoteRpc {
  const { urls, chainId, timeoutMs, tries, retryMs } = options
  const agent = new Agent({ connections: 16, maxResponseSize: MAX_ANSWER_BYTES, connectTimeout: timeoutMs })
  const checked = new Set<string>()
  const closing = new AbortController()
  const underWay = new Set<AbortController>()
  let first = 0

  const post = async (url: string, body: unknown): Promise<unknown> => {
    // A URL can hold a provider's key, so no message quotes more of it than the host.
    const { host } = new URL(url)
    // By hand: on Node 20 a garbage collection ends AbortSignal.any of an AbortSignal.timeout, which then never fires.
    const cut = new AbortController()
    let late = false
    const timer = setTimeout(() => {
      late = true
      cut.abort()
    }, timeoutMs)
    underWay.add(cut)
    let text: string
    try {
      const response = await request(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify(body),
        dispatcher: agent,
        signal: cut.signal,
      })
      text = await response.body.text()
      if (response.statusCode === 429 || response.statusCode >= 500) {
        throw unreachable(`the node at ${host} answered ${response.statusCode}`)
      }
    } catch (cause) {
      if (cause instanceof GdnError) throw cause
      throw unreachable(
        `the node at ${host} ${late ? `gave no answer in ${timeoutMs} ms` : `doesn't answer (${messageOf(cause)})`}`,
        cause,
      )
    } finally {
      clearTimeout(timer)
      underWay.delete(cut)
    }
    try {
      return JSON.parse(text)
    } catch (cause) {
      throw unreachable(`the node at ${host} answered something else than JSON`, cause)
    }
  }

  const check = async (url: string): Promise<void> => {
    if (checked.has(url)) return
    const reply = await post(url, { jsonrpc: '2.0', id: 0, method: 'eth_chainId', params: [] })
    const answer = answerOf(reply)
    if ('error' in answer) throw unreachable(`the node at ${new URL(url).host} doesn't tell its chain`, answer.error)
    if (Number(answer.result) !== chainId) {
      throw new GdnError(
        'invalid_config',
        `the node at ${new URL(url).host} is of chain ${Number(answer.result)}, not of ${chainId}`,
        { hint: 'give an RPC URL of the right network' },
      )
    }
    checked.add(url)
  }

  const exchange = async <Result>(body: unknown, read: (reply: unknown) => Result): Promise<Result> => {
    for (let attempt = 1; ; attempt++) {
      const url = urls[first % urls.length] ?? ''
      try {
        await check(url)
        return read(await post(url, body))
      } catch (error) {
        if (!(error instanceof GdnError) || error.code !== 'unreachable' || closing.signal.aborted) throw error
        first += 1
        if (attempt === tries) throw error
        await sleep(retryMs * 2 ** (attempt - 1), closing.signal)
      }
    }
  }

  const some = (calls: readonly RpcCall[]): Promise<RpcAnswer[]> =>
    exchange(
      calls.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params })),
      (reply) => {
        // Some refuse a batch as a whole for one of its calls.
        if (isRefusal(reply)) return calls.map(() => passing(answerOf(reply)))
        if (!Array.isArray(reply) || reply.length !== calls.length) throw unreachable('a batch was answered oddly')
        const byId = new Map(reply.map((one: { id?: unknown } | null) => [one?.id, one]))
        return calls.map((_, id) => passing(answerOf(byId.get(id))))
      },
    )

  return {
    async call<Result>(method: string, params: readonly unknown[]) {
      const answer = await exchange({ jsonrpc: '2.0', id: 0, method, params }, (reply) => passing(answerOf(reply)))
      if ('error' in answer) throw answer.error
      return answer.result as Result
    },
    async batch(calls) {
      const answers: RpcAnswer[] = []
      for (let at = 0; at < calls.length; at += MAX_BATCH)
        answers.push(...(await some(calls.slice(at, at + MAX_BATCH))))
      return answers
    },
    async close() {
      closing.abort(unreachable('the network is closed'))
      for (const cut of underWay) cut.abort()
      await agent.destroy()
    },
  }
}

function unreachable(message: string, cause?: unknown): GdnError {
  return new GdnError('unreachable', message, { hint: 'try again, or give another RPC URL', cause })
}

function answerOf(reply: unknown): RpcAnswer {
  const { result, error } = (reply ?? {}) as { result?: unknown; error?: Partial<RpcError> }
  if (error !== undefined && error !== null) {
    const code = typeof error.code === 'number' ? error.code : -32603
    const message = typeof error.message === 'string' ? error.message.slice(0, MAX_MESSAGE).toWellFormed() : ''
    return { error: new RpcError(code, message, error.data) }
  }
  if (result === undefined) throw unreachable('a node answered oddly')
  return { result }
}

/** Some name their limit of requests and that of blocks or events in one answer by the same code. */
const isTooMuch = ({ message }: RpcError): boolean => /\b(results?|ranges?|blocks?|logs?|size)\b/i.test(message)

const isRefusal = (reply: unknown): boolean =>
  typeof reply === 'object' && reply !== null && !Array.isArray(reply) && 'error' in reply && reply.error !== null

/** An error that says nothing about the call itself is no answer. */
function passing(answer: RpcAnswer): RpcAnswer {
  if ('error' in answer && PASSING_CODES.has(answer.error.code) && !isTooMuch(answer.error)) {
    throw unreachable(`a node failed: ${answer.error.message}`, answer.error)
  }
  return answer
}
