import { RpcRequestError } from 'viem'
import { RETRY_BACKOFF, retryAfterMs } from '../client/retry-read.ts'
import { type Transport, TransportError } from '../client/transport.ts'
import { backoffMs } from '../core/backoff.ts'
import { GdnError } from '../core/errors.ts'
import { asObject, parseJson } from '../core/json.ts'
import { sleep } from '../core/time.ts'

/** The Ethereum node that gdn uses to resolve names. */
export interface EnsNode {
  /** The node's URL. It may contain an API key, so errors show only its origin. */
  url: string
  /** The name of the variable or setting that contains the URL, for errors. */
  setting: string
}

const MAX_RESPONSE_BYTES = 8 * 2 ** 20
const MAX_MESSAGE_LENGTH = 300
/** Maximum number of attempts for a request. A second attempt is safe, because all requests only read. */
const MAX_ATTEMPTS = 2
/**
 * Maximum number of times that a throttled request is sent again. With the waits between them, the last attempt ends
 * before the time limit of a name.
 */
const MAX_THROTTLED_RETRIES = 6
const MAX_WAIT_MS = 8000
/** The HTTP status and the JSON-RPC code that mean that the node throttles requests. */
const THROTTLED_CODES = [429, -32_005]
/** JSON-RPC error code of a call that the contract reverted. */
const REVERTED_CODE = 3

interface NodeOptions {
  node: EnsNode
  transport: Transport
  userAgent: string
  timeoutMs: number
}

/**
 * Sends a JSON-RPC request. If the call reverts, throws viem's `RpcRequestError` with the revert data, so that viem can
 * read the data.
 *
 * @throws GdnError `refused` if the node doesn't respond or returns another error; the signal's reason once the signal
 *   is aborted
 */
export async function requestNode(
  { node, transport, userAgent, timeoutMs }: NodeOptions,
  { method, params }: { method: string; params: unknown },
  signal: AbortSignal,
): Promise<unknown> {
  const body = { jsonrpc: '2.0', id: 1, method, params }
  const headers = { 'content-type': 'application/json', accept: 'application/json', 'user-agent': userAgent }
  for (let failures = 0, throttled = 0; ; ) {
    signal.throwIfAborted()
    try {
      const response = await transport.request({
        method: 'POST',
        url: node.url,
        headers,
        body: Buffer.from(JSON.stringify(body)),
        timeoutMs,
        maxBytes: MAX_RESPONSE_BYTES,
        signal,
      })
      const responseBody = asObject(parseJson(response.body))
      const error = asObject(responseBody?.error)
      if (
        THROTTLED_CODES.some((code) => code === response.status || code === error?.code) &&
        throttled < MAX_THROTTLED_RETRIES
      ) {
        const waitMs = retryAfterMs(response.headers, Date.now()) ?? backoffMs(throttled + 1, RETRY_BACKOFF)
        throttled += 1
        await sleep(Math.min(waitMs, MAX_WAIT_MS), signal)
        continue
      }
      if (error !== null) throw responseError(node, error, body)
      if (response.status === 200 && responseBody !== null && 'result' in responseBody) return responseBody.result
      const problem = response.status === 200 ? 'a response that is not JSON-RPC' : `HTTP ${response.status}`
      throw nodeFailedError(node, `returned ${problem} for ${method}`)
    } catch (error) {
      if (signal.aborted) throw signal.reason
      const failure =
        error instanceof TransportError ? nodeFailedError(node, `did not respond: ${error.message}`) : error
      if (!(failure instanceof GdnError) || ++failures === MAX_ATTEMPTS) throw failure
    }
  }
}

/** Returns the error for a node that can't answer a request. */
export function nodeFailedError(node: EnsNode, problem: string): GdnError {
  return new GdnError('refused', `the Ethereum node ${new URL(node.url).origin} ${problem}`, {
    place: { flag: node.setting },
    hint: 'Nothing was sent. Try again, use another Ethereum node, or use addresses instead of ENS names.',
  })
}

function responseError(
  node: EnsNode,
  { code, message, data }: Record<string, unknown>,
  body: { method: string },
): Error {
  const text = typeof message === 'string' ? message.slice(0, MAX_MESSAGE_LENGTH) : 'unknown error'
  const numbered = typeof code === 'number' ? code : 0
  const isRevert = numbered === REVERTED_CODE || parseRevertData(data) !== undefined || /revert/i.test(text)
  if (!isRevert) return nodeFailedError(node, `returned an error for ${body.method}: ${text}`)
  const error = { code: REVERTED_CODE, message: text, data: parseRevertData(data) }
  return new RpcRequestError({ body, error, url: new URL(node.url).origin })
}

/** Returns revert data, which nodes return in several forms. */
function parseRevertData(data: unknown): string | undefined {
  const text = typeof data === 'string' ? data : asObject(data)?.data
  return typeof text === 'string' ? /0x[0-9a-f]*$/i.exec(text)?.[0] : undefined
}
