import { type Blockchain, isEvm } from '../../api/blockchains.ts'
import { GdnError } from '../../core/errors.ts'
import { inCoins } from '../../core/units.ts'
import { within } from '../../core/within.ts'
import { isWithoutValue } from '../connect/is-without-value.ts'
import type { Connection, Deps } from '../deps.ts'
import { feesOfServer } from './fees.ts'
import { costOfRun, costsOf, leftOf, type WorstUse } from './run-limit.ts'

/** How long a prompt waits for the fees and costs that it needs. */
const FEES_MS = 5_000

/** Requests that a prompt is about. */
export interface PricedRequests {
  /** The limit that they carry, in wei; null without one. */
  limit: bigint | null
  /** The run whose limit it is. Default: the limit is that of these requests alone. */
  run?: string
  /** What they use at most, each in a transaction of its own. Called only with the fees of the server. */
  worst(): Promise<WorstUse>
}

/**
 * Returns the most that requests can cost, as the end of a question: `, for at most 0.0372 ETH`. That is the worst case
 * at today's fees, or else what is left of their limit. It is empty where coins have no value, and without fees or limit.
 */
export async function atMostText(
  deps: Pick<Deps, 'signals'>,
  connection: Pick<Connection, 'client' | 'server'>,
  blockchain: Blockchain | null,
  { limit, run, worst }: PricedRequests,
): Promise<string> {
  if (blockchain === null || !isEvm(blockchain) || isWithoutValue(blockchain, connection)) return ''
  const [found, costs] = await Promise.all([
    soon(deps, feesOfServer(deps, blockchain, connection)),
    limit === null || run === undefined ? null : soon(deps, costsOf(connection, run, deps.signals.signal)),
  ])
  const needed = found === null ? null : await costOfRun(await worst(), found.fees, costs)
  const { counted, left } = limit === null ? { counted: 0n, left: null } : leftOf(limit, costs)
  const most = needed === null || (left !== null && left < needed) ? left : needed
  if (most === null) return ''
  const source = counted > 0n ? 'what is left of the limit' : run === undefined ? 'the limit' : 'the limit of the run'
  const amount = `${inCoins(most, most === needed ? 'up' : 'down')} ${found?.coin ?? 'coins'}`
  return `, for at most ${amount}${most === needed ? '' : ` (${source})`}`
}

/** Returns what the server responds; null if it fails or takes too long for a prompt. */
async function soon<T>(deps: Pick<Deps, 'signals'>, response: Promise<T>): Promise<T | null> {
  try {
    return await within(response, FEES_MS)
  } catch (error) {
    if (!(error instanceof GdnError) || deps.signals.signal.aborted) throw error
    return null
  }
}
