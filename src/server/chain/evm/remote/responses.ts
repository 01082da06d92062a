import { GdnError } from '../../../../core/errors.ts'
import { isStatePruned } from '../../../../core/pruned-state.ts'
import type { RpcOutcome } from '../../rpc/providers.ts'
import { RPC_ERRORS, RpcError, type RpcResponse } from '../../rpc/rpc-response.ts'
import { isExecutionError } from '../execution-error.ts'

/** Maximum length of a node's message. It is logged and becomes part of the reason why an NFT failed. */
const MAX_MESSAGE_LENGTH = 500
/** JSON-RPC errors that mean "rate limited". */
const RATE_LIMIT_CODES = new Set([429, -32005, -32007])
/** JSON-RPC errors that are temporary: a provider's limit, an internal error, or a lagging node. */
const TEMPORARY_CODES = new Set([...RATE_LIMIT_CODES, RPC_ERRORS.internal, -32016])

/** Matches messages that mean "rate limited", for providers with other codes. */
const RATE_LIMIT_PATTERN =
  /\btoo many requests\b|\brate.?limit|\bthrottl|\bexceeded (its|your) .*\b(capacity|quota|credits|compute units)\b/i

/** Matches the messages of valid calls that took too long, and of proxies that can't reach their upstream. */
const TEMPORARY_MESSAGE =
  /\btimed? ?out\b|\btimeout\b|\btemporar(y|ily)\b|\bservice unavailable\b|\btry again\b|\bbad gateway\b/i

/**
 * Matches messages of a node that lacks the requested block or its state, because the node lags or reverts a block
 * while it responds. Each node implementation has a different message.
 */
const MISSING_BLOCK_MESSAGE = new RegExp(
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

/**
 * The error of a node that can't answer a request. `restMs` is the pause that the node requested; null if it requested
 * none.
 */
export class NodeFailedError extends GdnError {
  readonly restMs: number | null
  readonly limited: boolean

  constructor(message: string, { cause, limited = false, restMs = null }: FailureFacts = {}) {
    super('unreachable', message, { hint: 'Try again, or configure another RPC URL.', cause })
    this.limited = limited
    this.restMs = restMs
  }
}

/** Returns the outcome of a request. It is `limited` if any response in a batch means "rate limited". */
export function classifyResponse(body: unknown): RpcOutcome {
  const responses: { error?: Partial<RpcError> | null }[] = [body].flat().map((entry) => (entry ?? {}) as object)
  const errors = responses.flatMap(({ error }) =>
    error === undefined || error === null ? [] : parseResponseError(error),
  )
  if (errors.some(isLimit)) return 'limited'
  return Array.isArray(body) || errors.length === 0 ? 'answered' : 'refused'
}

/** Returns the error in a response. The response is untrusted and may have any form. */
function parseResponseError({ code, message, data }: Partial<RpcError>): RpcError {
  const text = typeof message === 'string' ? message.slice(0, MAX_MESSAGE_LENGTH).toWellFormed() : ''
  return new RpcError(typeof code === 'number' ? code : RPC_ERRORS.internal, text, data)
}

const isData = (result: unknown) =>
  typeof result === 'string' && /^0x[0-9a-f]*$/i.test(result) && result.length % 2 === 0
const isObjectOrNull = (result: unknown) => typeof result === 'object'

/** Functions that check, by method, whether a result has the right form. `parseQuantity` checks numbers. */
const RESULT_CHECKS: Readonly<Record<string, (result: unknown) => boolean>> = {
  eth_call: isData,
  eth_getCode: isData,
  eth_getStorageAt: isData,
  eth_getLogs: Array.isArray,
  eth_getBlockByNumber: isObjectOrNull,
  eth_getTransactionByHash: isObjectOrNull,
  eth_getTransactionReceipt: isObjectOrNull,
}

/**
 * Returns the response to one call.
 *
 * @throws NodeFailed if the result doesn't have the form of its method
 */
export function parseRpcResponse(response: unknown, method: string): RpcResponse {
  const { result, error } = (response ?? {}) as { result?: unknown; error?: Partial<RpcError> }
  if (error !== undefined && error !== null) {
    return { error: parseResponseError(error) }
  }
  if (result === undefined || RESULT_CHECKS[method]?.(result) === false) {
    throw new NodeFailedError(`a node returned an invalid response to ${method}`)
  }
  return { result }
}

/**
 * Returns the response if it is either a result or an error that the call caused.
 *
 * @param refusals whether a node's internal error counts as the response to the call
 * @throws NodeFailed for an error that the call didn't cause
 */
export function throwNodeFailures(response: RpcResponse, { refusals = false } = {}): RpcResponse {
  if (!('error' in response)) return response
  const { error } = response
  const { code, message } = error
  const isBusy = TEMPORARY_CODES.has(code) || RATE_LIMIT_PATTERN.test(message) || TEMPORARY_MESSAGE.test(message)
  const lacksBlock = MISSING_BLOCK_MESSAGE.test(message) && !isStatePruned(message)
  const isInconclusive = ((isBusy && !isQueryTooLarge(error)) || lacksBlock) && !isExecutionError(error)
  if (!isInconclusive || (refusals && error.code === RPC_ERRORS.internal)) return response
  throw new NodeFailedError(`a node failed: ${error.message}`, { cause: error })
}

/**
 * Returns whether an error is about the size of a query. Some providers use the same code for a rate limit and for a
 * limit of blocks or events.
 */
export const isQueryTooLarge = ({ message }: Partial<RpcError>): boolean =>
  /\b(results?|responses?|ranges?|blocks?|logs?|size)\b/i.test(String(message)) &&
  /\b(too|more than|up to|max(imum)?|limit(s|ed)?|exceed(s|ed|ing)?)\b/i.test(String(message))

const isLimit = ({ code = 0, message = '', data }: Partial<RpcError>): boolean =>
  (RATE_LIMIT_CODES.has(code) || (RATE_LIMIT_PATTERN.test(message) && !isExecutionError({ code, message, data }))) &&
  !isQueryTooLarge({ message })
