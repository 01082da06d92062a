import { backoffMs } from '../core/backoff.ts'
import { GdnError } from '../core/errors.ts'
import { hexQuantity } from '../core/hex-quantity.ts'
import type { ChainReader } from '../verify/chain-reader.ts'
import { classifyLogError, type LogProblem } from './log-limits.ts'

/** A log in the form that nodes return. */
export interface RawLog {
  topics: readonly string[]
  data: string
  blockNumber: string
  logIndex: string
  removed?: boolean
}

export interface LogQuery {
  address: string
  /** The first topics of the requested events. A log matches if it has any of them. */
  topics: readonly string[]
  from: number
  to: number
}

export interface LogRange {
  from: number
  to: number
  logs: RawLog[]
}

interface ReadLogsOptions {
  /** A reader that repeats requests which exceed the rate limit. */
  reader: Pick<ChainReader, 'request' | 'origin'>
  query: LogQuery
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  signal?: AbortSignal | undefined
}

/** Maximum number of requests in flight. */
const MAX_CONCURRENT_REQUESTS = 4
const FIRST_SPAN_BLOCKS = 100
/** Ranges grow until a response contains about this many logs. This limit keeps memory usage low. */
const LOGS_PER_RESPONSE = 200
/**
 * Number of ranges that must succeed before ranges grow again, after a rejection that depends on the content of a
 * range.
 */
const RANGES_BEFORE_GROWTH = 8
/** Number of attempts while the node doesn't have the blocks yet. All attempts take about half a minute. */
const MAX_BEHIND_ATTEMPTS = 6

interface PendingRange {
  from: number
  to: number
  response: Promise<RawLog[] | LogProblem>
}

/**
 * Reads logs in order, with several requests in flight. Adapts the size of the ranges to the provider's limits. A
 * rejected range is halved, and the next ranges grow after a range with few logs.
 *
 * @throws GdnError `refused` if the node has deleted the logs of a range, or if one block has too many logs
 */
export async function* readLogRanges({ reader, query, sleep, signal }: ReadLogsOptions): AsyncGenerator<LogRange> {
  const queue: PendingRange[] = []
  let span = FIRST_SPAN_BLOCKS
  let largest = Number.POSITIVE_INFINITY
  let calm = RANGES_BEFORE_GROWTH
  let next = query.from

  const launch = (from: number, to: number): PendingRange => {
    const response = requestLogs({ reader, query: { ...query, from, to }, sleep, signal })
    // Ignore the error here, because it is thrown when the range reaches the front of the queue.
    response.catch(() => {})
    return { from, to, response }
  }

  while (next <= query.to || queue.length > 0) {
    while (queue.length < MAX_CONCURRENT_REQUESTS && next <= query.to) {
      const to = Math.min(next + span - 1, query.to)
      queue.push(launch(next, to))
      next = to + 1
    }
    const item = queue.shift()
    if (item === undefined) return
    const { from, to } = item
    const response = await item.response
    const blockCount = to - from + 1
    if (typeof response !== 'string') {
      calm += 1
      // Only the response to a full range shows whether a larger range is worthwhile.
      if (calm > RANGES_BEFORE_GROWTH && blockCount >= span) span = computeNextSpan(span, response.length, largest)
      yield { from, to, logs: response }
      continue
    }
    if (blockCount === 1) throw oneBlockTooMuchError(reader.origin, from, response)
    const half = Math.floor(blockCount / 2)
    span = Math.min(span, half)
    if (response === 'blocks') largest = Math.min(largest, blockCount - 1)
    else calm = 0
    queue.unshift(launch(from, from + half - 1), launch(from + half, to))
  }
}

function computeNextSpan(span: number, logs: number, largest: number): number {
  if (logs > 2 * LOGS_PER_RESPONSE) return Math.max(1, Math.floor(span / 2))
  if (logs > LOGS_PER_RESPONSE / 2) return span
  // Quadruple the size while there are few logs, but stay below a size that the provider has rejected.
  const grown = logs > LOGS_PER_RESPONSE / 8 ? span * 2 : span * 4
  return Math.min(grown, Math.max(span, Math.floor((span + largest) / 2)))
}

/** Returns the logs of a range, or the reason why the node rejects a range of this size. */
async function requestLogs({ reader, query, sleep, signal }: ReadLogsOptions): Promise<RawLog[] | LogProblem> {
  const { address, topics, from, to } = query
  const filter = { address, topics: [topics], fromBlock: hexQuantity(from), toBlock: hexQuantity(to) }
  for (let attempt = 1; ; attempt++) {
    const response = await reader.request('eth_getLogs', [filter]).catch((error: unknown) => {
      // A response that is too large or too slow fails with one of these errors.
      const isLarge =
        error instanceof GdnError && /\bno complete response within\b|\blonger than\b|HTTP 413/.test(error.message)
      if (isLarge && from < to) return { error: { code: 0, message: 'timeout' } }
      throw error
    })
    if ('result' in response) return parseLogs(response.result, reader.origin, query)
    const problem = classifyLogError(response.error)
    if (problem === 'blocks' || problem === 'results' || problem === 'time') return problem
    if (problem === 'behind' && attempt < MAX_BEHIND_ATTEMPTS) {
      await sleep(backoffMs(attempt), signal)
      continue
    }
    if (problem === 'pruned') throw prunedLogsError(reader.origin, query, response.error.message)
    throw new GdnError(
      'bad_answer',
      `${reader.origin} rejects eth_getLogs of blocks ${from} to ${to}: ${response.error.message}`,
    )
  }
}

const QUANTITY_PATTERN = /^0x[0-9a-f]{1,13}$/i
const WORD_PATTERN = /^0x[0-9a-f]{64}$/

const byPosition = (a: RawLog, b: RawLog) =>
  Number(a.blockNumber) - Number(b.blockNumber) || Number(a.logIndex) - Number(b.logIndex)

/** Checks the form of logs, because the node may be any server. Returns the logs in the order of the chain. */
function parseLogs(result: unknown, origin: string, { address, topics, from, to }: LogQuery): RawLog[] {
  const isLog = (log: (Partial<RawLog> & { address?: unknown }) | null) => {
    if (typeof log !== 'object' || log === null) return false
    if (typeof log.address !== 'string' || log.address.toLowerCase() !== address.toLowerCase()) return false
    if (!Array.isArray(log.topics) || typeof log.data !== 'string') return false
    if (!topics.includes(log.topics[0]) || !log.topics.every((topic) => WORD_PATTERN.test(topic))) return false
    if (!QUANTITY_PATTERN.test(String(log.blockNumber)) || !QUANTITY_PATTERN.test(String(log.logIndex))) return false
    const block = Number(log.blockNumber)
    return block >= from && block <= to
  }
  const logs = Array.isArray(result) && result.every(isLog) ? (result as RawLog[]).sort(byPosition) : null
  const isTwice = (log: RawLog, at: number) => at > 0 && byPosition(log, logs?.[at - 1] ?? log) === 0
  if (logs === null || logs.some(isTwice)) {
    throw new GdnError('bad_answer', `${origin} returned invalid logs for blocks ${from} to ${to}`)
  }
  return logs
}

const prunedLogsError = (origin: string, { from, to }: LogQuery, message: string) =>
  new GdnError('refused', `${origin} has no logs of block ${from} (requested blocks ${from} to ${to}): ${message}`, {
    hint: `Use the URL of an archive node that has block ${from}, and run the same command again to resume.`,
    details: { block: from },
  })

const oneBlockTooMuchError = (origin: string, block: number, problem: LogProblem) =>
  new GdnError('refused', `${origin} can't return the logs of block ${block}: its limit on ${problem} is too low`, {
    hint: 'Use a node with a higher limit, and run the same command again to resume.',
    details: { block },
  })
