import { GdnError } from '../../../../core/errors.ts'
import type { RpcOutcome } from '../../rpc/providers.ts'
import type { RpcAnswer } from '../../rpc/rpc-answer.ts'
import { RpcError } from '../../rpc/rpc-answer.ts'
import { isExecutionError } from '../execution-error.ts'

/** Maximum length of a node's message, which goes into the log and into the reason why an NFT failed. */
const MAX_MESSAGE = 500
const INTERNAL = -32603
/** JSON-RPC errors that mean "rate limited". */
const LIMIT_CODES = new Set([429, -32005, -32007])
/** Errors that mean "not now": a provider's limit, an internal error, a node that lags. */
const PASSING_CODES = new Set([...LIMIT_CODES, INTERNAL, -32016])

/** Other providers have their own codes and use these words. */
const LIMIT =
  /\btoo many requests\b|\brate.?limit|\bthrottl|\bexceeded (its|your) .*\b(capacity|quota|credits|compute units)\b/i

/** The call is valid, but it took too long, or the upstream of a proxy is down. */
const NOT_NOW = /\btimed? ?out\b|\btimeout\b|\btemporar(y|ily)\b|\bservice unavailable\b|\btry again\b|\bbad gateway\b/i

/**
 * A node that lags, or that reverts a block while it responds, doesn't have the requested block or its state. Each node
 * implementation has its own message for that.
 */
const LACKS_BLOCK = new RegExp(
  [
    /\b(header|block)( for hash| \S+)? not found\b/,
    /\bunknown ?block\b/,
    /\bBlockOutOfRange/,
    /\bmissing trie node\b/,
    /\bstate\b.* (not|un)[- ]?available\b/,
    /\bunfinalized data\b/,
    /\bafter last accepted block\b/,
    /\bbeyond (the )?(current|latest|head)\b/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'i',
)

interface FailureFacts {
  cause?: unknown
  limited?: boolean
  restMs?: number | null
}

/** A node failed. `restMs` is the pause that it requested, if it did. */
export class NodeFailed extends GdnError {
  readonly restMs: number | null
  readonly limited: boolean

  constructor(message: string, { cause, limited = false, restMs = null }: FailureFacts = {}) {
    super('unreachable', message, { hint: 'Try again, or configure another RPC URL.', cause })
    this.limited = limited
    this.restMs = restMs
  }
}

/** Whether any response in a batch means "rate limited". */
export function outcomeOf(reply: unknown): RpcOutcome {
  const replies: { error?: Partial<RpcError> | null }[] = [reply].flat().map((one) => (one ?? {}) as object)
  const errors = replies.flatMap(({ error }) => (error === undefined || error === null ? [] : errorIn(error)))
  if (errors.some(isLimit)) return 'limited'
  return Array.isArray(reply) || errors.length === 0 ? 'answered' : 'refused'
}

/** The error in a response, which may be anything. */
function errorIn({ code, message, data }: Partial<RpcError>): RpcError {
  const text = typeof message === 'string' ? message.slice(0, MAX_MESSAGE).toWellFormed() : ''
  return new RpcError(typeof code === 'number' ? code : INTERNAL, text, data)
}

const isData = (result: unknown) =>
  typeof result === 'string' && /^0x[0-9a-f]*$/i.test(result) && result.length % 2 === 0
const isObject = (result: unknown) => typeof result === 'object'

/** Whether a result has the form of its method. `readQuantity` checks numbers. */
const FORMS: Readonly<Record<string, (result: unknown) => boolean>> = {
  eth_call: isData,
  eth_getCode: isData,
  eth_getStorageAt: isData,
  eth_getLogs: Array.isArray,
  eth_getBlockByNumber: isObject,
  eth_getTransactionByHash: isObject,
  eth_getTransactionReceipt: isObject,
}

/** The response to one call. */
export function answerOf(reply: unknown, method: string): RpcAnswer {
  const { result, error } = (reply ?? {}) as { result?: unknown; error?: Partial<RpcError> }
  if (error !== undefined && error !== null) {
    return { error: errorIn(error) }
  }
  if (result === undefined || FORMS[method]?.(result) === false) {
    throw new NodeFailed(`a node returned an invalid response to ${method}`)
  }
  return { result }
}

/**
 * Throws for an error that isn't about the call itself.
 *
 * @param refusals treat what a node calls an internal error as its response
 */
export function passing(answer: RpcAnswer, { refusals = false } = {}): RpcAnswer {
  if (!('error' in answer)) return answer
  const { error } = answer
  const { code, message } = error
  const isBusy = PASSING_CODES.has(code) || LIMIT.test(message) || NOT_NOW.test(message)
  const saysNothing = ((isBusy && !isTooMuch(error)) || LACKS_BLOCK.test(message)) && !isExecutionError(error)
  if (!saysNothing || (refusals && error.code === INTERNAL)) return answer
  throw new NodeFailed(`a node failed: ${error.message}`, { cause: error })
}

/** Some providers use the same code for a rate limit and for a limit of blocks or events. */
export const isTooMuch = ({ message }: Partial<RpcError>): boolean =>
  /\b(results?|responses?|ranges?|blocks?|logs?|size)\b/i.test(String(message)) &&
  /\b(too|more than|up to|max(imum)?|limit(s|ed)?|exceed(s|ed|ing)?)\b/i.test(String(message))

const isLimit = ({ code = 0, message = '', data }: Partial<RpcError>): boolean =>
  (LIMIT_CODES.has(code) || (LIMIT.test(message) && !isExecutionError({ code, message, data }))) &&
  !isTooMuch({ message })
