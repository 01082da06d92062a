/**
 * The reason why a node rejected a query for logs. For `blocks`, `results` and `time`, a smaller range may succeed.
 * `behind` means that the node doesn't have the blocks yet, because it is one of several nodes behind a URL.
 */
export type LogProblem = 'blocks' | 'results' | 'time' | 'rate' | 'pruned' | 'behind' | 'other'

/** Matches messages about deleted logs or blocks. geth has an error code for this. */
const PRUNED_MESSAGE =
  /\bprun|\bhistor(y|ical)\b.* (un|not )?available|\barchive\b|\bno historical\b|\bold data not available|\bmissing block (body|receipts)\b/i
const PRUNED_CODE = 4444

const RATE_LIMIT_MESSAGE =
  /\btoo many requests?\b|\brate.?limit|\bthrottl|\bexceeded the rps limit\b|\bcapacity limit exceeded\b|\bexceeded (its|your) .*\b(capacity|quota|credits|compute units)\b|\bcompute units per second\b/i
const RATE_CODES = new Set([429, -32007, -32097])

const TIMEOUT_MESSAGE = /\btimed? ?out\b|\btimeout\b|\bdeadline exceeded\b|\btook too long\b/i

const BEHIND_MESSAGE =
  /\bbeyond\b.*\b(head|latest|executed)\b|\bnode is still syncing\b|\bblock height is \d+ but requested\b|\b(header|blocks?)\b.* (can)?not (be )?found\b/i

const SIZE_LIMIT_MESSAGE =
  /\b(too|more than|up to|at most|max(imum)?|limit(s|ed)?|exceed(s|ed|ing)?|(larger|greater|bigger|smaller) than|not supported)\b/i
const RESULTS_MESSAGE = /\b(results?|logs?|events?|response|size|big|entries)\b/i
const BLOCKS_MESSAGE = /\b(block ?ranges?|ranges?|blocks?)\b/i

/**
 * Classifies the JSON-RPC error of an `eth_getLogs` request. Providers use different messages, and one code has several
 * meanings, so the classification depends mostly on the message.
 */
export function classifyLogError({ code, message }: { code: number; message: string }): LogProblem {
  const isTooMuch = SIZE_LIMIT_MESSAGE.test(message)
  // Alchemy's message about too many results also mentions a block range, and its message about a timeout also mentions
  // the response size.
  if (TIMEOUT_MESSAGE.test(message)) return 'time'
  if (code === PRUNED_CODE || PRUNED_MESSAGE.test(message)) return 'pruned'
  if (RATE_CODES.has(code) || RATE_LIMIT_MESSAGE.test(message)) return 'rate'
  if (BEHIND_MESSAGE.test(message)) return 'behind'
  if (isTooMuch && /\b(results?|response|events?|logs matched|size)\b/i.test(message)) return 'results'
  if (isTooMuch && BLOCKS_MESSAGE.test(message)) return 'blocks'
  if (isTooMuch && RESULTS_MESSAGE.test(message)) return 'results'
  // BSC nodes return only this text for a range that is too large.
  return /^limit exceeded$/i.test(message.trim()) ? 'blocks' : 'other'
}
