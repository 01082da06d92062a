import { findStatus } from '../client/responses.ts'
import type { RetryClock } from '../client/retry-clock.ts'
import { RETRY_BACKOFF, retryRead } from '../client/retry-read.ts'
import type { Transport, TransportResponse } from '../client/transport.ts'
import { backoffMs } from '../core/backoff.ts'
import { chunksOf } from '../core/chunks-of.ts'
import { GdnError } from '../core/errors.ts'
import { asObject, parseJson } from '../core/json.ts'
import { isStatePruned } from '../core/pruned-state.ts'

/**
 * The result of one call. `reverted` means that the contract rejected the call. `failed` means that the result is
 * unknown.
 */
export type CallResult =
  | { kind: 'value'; data: string }
  | { kind: 'reverted'; message: string }
  | { kind: 'failed'; message: string }

/** The response of a node to a request: the result, or the JSON-RPC error. */
export type NodeResponse = { result: unknown } | { error: { code: number; message: string } }

/** Reads from an EVM chain through JSON-RPC. */
export interface ChainReader {
  /** The only part of the URL that may be shown, because the rest may contain a key. */
  readonly origin: string
  /**
   * Returns the chain ID from `eth_chainId`.
   *
   * @throws GdnError if no chain responds
   */
  chainId(): Promise<number>
  /** Makes many contract calls at a block (default: the latest block), and returns the results in order. */
  call(calls: readonly { to: string; data: string; gas?: string }[], block?: string): Promise<CallResult[]>
  /** Reads the code at addresses, and returns the results in order. The result is `0x` for an address without code. */
  codeAt(addresses: readonly string[], block?: string): Promise<CallResult[]>
  /**
   * Sends one request, and repeats it if no response arrives.
   *
   * @throws GdnError `unreachable` if no node responds
   */
  request(method: string, params: readonly unknown[]): Promise<NodeResponse>
  /** Reads storage slots of a contract, and returns the words in order. */
  storageAt(address: string, slots: readonly string[], block?: string): Promise<CallResult[]>
}

interface ChainReaderOptions {
  /** URL of the node. It may contain a key, so it is never shown. */
  url: string
  transport: Transport
  clock: RetryClock
  userAgent: string
  signal?: AbortSignal | undefined
  /** Resolves when the given number of calls may be sent. By default, calls are sent immediately. */
  enter?: ((calls: number) => Promise<void>) | undefined
}

/** Maximum number of calls in a batch. Most nodes accept this size. */
const MAX_CALLS_PER_BATCH = 100
const TIMEOUT_MS = 20_000
/** Maximum length of a node's error message, in characters. */
const MAX_MESSAGE_LENGTH = 500

/** Maximum number of attempts for a failed call. */
const MAX_ROUNDS = 3
const NO_RESPONSE: CallResult = { kind: 'failed', message: 'no response to this call' }

/**
 * Returns whether to repeat a call. Failed calls are repeated, because nodes also report temporary limits as errors in
 * a response. Calls at a block whose state is pruned aren't repeated. A reverted call is repeated once, because one of
 * several nodes behind a URL may lag and not have the newest mints yet.
 */
const mayRepeat = (result: CallResult, round: number): boolean =>
  (result.kind === 'failed' && !isStatePruned(result.message)) || (result.kind === 'reverted' && round === 1)

function nullIfUnanswered(error: unknown): null {
  if (error instanceof GdnError && (error.code === 'unreachable' || error.code === 'bad_answer')) return null
  throw error
}

interface NodeCall {
  method: string
  params: readonly unknown[]
}

interface NodeReply {
  result?: unknown
  error?: { code?: unknown; message?: unknown }
}

/** Creates a reader for the chain behind a JSON-RPC URL. */
export function createChainReader(options: ChainReaderOptions): ChainReader {
  const { url, transport, clock, userAgent, signal, enter } = options
  const { origin } = new URL(url)

  const exchange = (body: unknown) =>
    retryRead(origin, clock, signal, async () => {
      await enter?.(Array.isArray(body) ? body.length : 1)
      return await transport.request({
        method: 'POST',
        url,
        headers: { 'content-type': 'application/json', accept: 'application/json', 'user-agent': userAgent },
        body: Buffer.from(JSON.stringify(body)),
        timeoutMs: TIMEOUT_MS,
        signal,
      })
    })

  const noChainError = (why: string, status: number) =>
    new GdnError('bad_answer', `no chain responds at ${origin}: ${why}`, { details: { status } })
  const badStatusError = (response: TransportResponse) =>
    noChainError(`HTTP ${response.status}${describeContent(response)}`, response.status)

  async function post(body: unknown): Promise<unknown> {
    const response = await exchange(body)
    if (response.status === 200) return parseJson(response.body)
    throw badStatusError(response)
  }

  async function request(method: string, params: readonly unknown[]): Promise<NodeResponse> {
    const reply = await exchange({ jsonrpc: '2.0', id: 1, method, params })
    // Some providers send JSON-RPC errors with a status other than 200.
    const response = parseResponse(parseJson(reply.body))
    if (response?.error !== undefined && response.error !== null) {
      const { code } = response.error
      return {
        error: { code: typeof code === 'number' ? code : 0, message: errorText(response).slice(0, MAX_MESSAGE_LENGTH) },
      }
    }
    if (reply.status !== 200) throw badStatusError(reply)
    if (response === null) throw new GdnError('bad_answer', `${origin} returned an invalid response to ${method}`)
    return { result: response.result }
  }

  async function ask(method: string): Promise<bigint> {
    const reply = await exchange({ jsonrpc: '2.0', id: 1, method, params: [] })
    if (reply.status !== 200) throw badStatusError(reply)
    const response = parseResponse(parseJson(reply.body))
    const { result } = response ?? {}
    if (typeof result === 'string' && /^0x[0-9a-fA-F]{1,64}$/.test(result)) return BigInt(result)
    throw noChainError(
      response === null ? `the response is not JSON-RPC${describeContent(reply)}` : errorText(response),
      200,
    )
  }

  async function askBatch(calls: readonly NodeCall[]): Promise<CallResult[]> {
    const requests = calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call }))
    const responses = await post(requests).catch((error: unknown) => {
      const status = findStatus(error)
      if (status === undefined || status === 429 || requests.length === 1) throw error
      return null
    })
    if (Array.isArray(responses)) {
      const byId = new Map(responses.map((response): [unknown, unknown] => [asObject(response)?.id, response]))
      if (requests.some(({ id }) => byId.has(id))) return requests.map(({ id }) => parseCallResult(byId.get(id)))
    }
    // Some nodes accept no batches, or only smaller batches. They return errors in various forms and with various
    // statuses.
    const results: CallResult[] = []
    for (const request of requests) results.push(parseCallResult(await post(request)))
    return results
  }

  async function askAll(calls: readonly NodeCall[]): Promise<CallResult[]> {
    const results: CallResult[] = []
    let open = calls.map((_, index) => index)
    for (let round = 1; ; round++) {
      for (const chunk of chunksOf(open, MAX_CALLS_PER_BATCH)) {
        const asking = askBatch(chunk.flatMap((index) => calls[index] ?? []))
        // If a later round gets no response, return the results of the earlier rounds.
        const responses = await (round === 1 ? asking : asking.catch(nullIfUnanswered))
        if (responses === null) return results
        for (const [number, index] of chunk.entries()) results[index] = responses[number] ?? NO_RESPONSE
      }
      open = open.filter((index) => mayRepeat(results[index] ?? NO_RESPONSE, round))
      if (open.length === 0 || round === MAX_ROUNDS) return results
      await clock.sleep(backoffMs(round + 1, RETRY_BACKOFF, clock.random), signal)
    }
  }

  return {
    origin,
    chainId: async () => Number(await ask('eth_chainId')),
    request,
    call: (calls, block = 'latest') => askAll(calls.map((call) => ({ method: 'eth_call', params: [call, block] }))),
    codeAt: (addresses, block = 'latest') =>
      askAll(addresses.map((address) => ({ method: 'eth_getCode', params: [address, block] }))),
    storageAt: (address, slots, block = 'latest') =>
      askAll(slots.map((slot) => ({ method: 'eth_getStorageAt', params: [address, slot, block] }))),
  }
}

/**
 * Returns the media type of a response that isn't JSON, for messages. The body isn't shown, because it may contain the
 * URL.
 */
function describeContent({ headers }: TransportResponse): string {
  const [type = ''] = (headers['content-type'] ?? '').split(';')
  return /^[\w.+-]{1,40}\/[\w.+-]{1,40}$/.test(type) && !type.endsWith('json') ? ` (${type})` : ''
}

function parseResponse(value: unknown): NodeReply | null {
  const record = asObject(value)
  return record === null || !('result' in record || 'error' in record) ? null : (record as NodeReply)
}

const errorText = ({ error }: NodeReply): string =>
  typeof error?.message === 'string' ? error.message : 'an invalid response'

function parseCallResult(value: unknown): CallResult {
  const response = parseResponse(value)
  if (response === null) return NO_RESPONSE
  const { result } = response
  // A regular expression with a repeated group would overflow the stack for results of several megabytes.
  if (typeof result === 'string' && result.length % 2 === 0 && /^0x[0-9a-f]*$/i.test(result)) {
    return { kind: 'value', data: result }
  }
  const message = errorText(response)
  // Nodes report a revert with code 3. Older nodes mention the revert only in the message.
  return { kind: response.error?.code === 3 || /revert/i.test(message) ? 'reverted' : 'failed', message }
}
