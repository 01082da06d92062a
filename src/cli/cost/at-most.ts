import { type Blockchain, isEvm } from '../../api/blockchains.ts'
import { costsOf } from '../../client/run-costs.ts'
import { GdnError } from '../../core/errors.ts'
import { inCoins } from '../../core/units.ts'
import { withTimeout } from '../../core/with-timeout.ts'
import type { DropGas } from '../../server/chain/evm/cost/drop-gas.ts'
import { isWithoutValue } from '../connect/is-without-value.ts'
import type { Connection, Deps } from '../deps.ts'
import { safe } from '../io/io.ts'
import { count } from '../render/count.ts'
import { feesOfServer } from './fees.ts'
import { costOfRun, leftOf, limitOfRun, type WorstUse } from './run-limit.ts'

/** How long a prompt waits for the fees and costs that it needs. */
const FEES_MS = 5_000

/** What requests use at most, and what they are estimated to use where less than the most may be permitted. */
export type PricedUse = WorstUse & { estimate?: DropGas }

/** Requests that a prompt is about. */
export interface PricedRequests {
  /** The limit that this command was given, in wei; null without one. */
  limit: bigint | null
  /** The limit of the run that is kept on this machine. */
  kept?: bigint | null
  /** Finds their blockchain where the command doesn't name it. */
  findBlockchain?(): Promise<Blockchain | null>
  /** The run whose limit it is. Default: the limit is that of these requests alone. */
  run?: string
  /** What they use, each in a transaction of its own. Called only with the fees of the server. */
  worst(): Promise<PricedUse>
}

/**
 * Returns the most that requests can cost, as the end of a question: `, for at most 0.05 ETH (the limit)`. With a limit
 * that is everything that can still be paid under it, also for what its run has accepted before. Without a limit it is the
 * worst case at the current fees, and a note says that fees can rise. It is empty where coins have no value, and without
 * fees or limit. A note says before the question that rows will wait because of the limit.
 */
export async function atMostText(
  deps: Pick<Deps, 'io' | 'signals'>,
  connection: Pick<Connection, 'client' | 'server'>,
  blockchain: Blockchain | null,
  { limit: given, kept = null, run, worst }: PricedRequests,
): Promise<string> {
  if (blockchain === null || !isEvm(blockchain) || isWithoutValue(blockchain, connection)) return ''
  const [found, costs] = await Promise.all([
    soon(deps, feesOfServer(deps, blockchain, connection)),
    run === undefined ? null : soon(deps, costsOf(connection, run, deps.signals.signal)),
  ])
  const use = found === null ? null : await worst()
  const needed = found === null || use === null ? null : await costOfRun(use, found.fees, costs)
  const limit = limitOfRun({ given, kept }, costs)
  const { counted, left, payable } = limit === null ? { counted: 0n, left: null, payable: 0n } : leftOf(limit, costs)
  const isReserved = left !== null && payable > left
  if (needed === null && left === null) return ''
  const coin = found?.coin ?? 'coins'
  if (found !== null && use?.estimate !== undefined && left !== null) {
    const { costOf } = await import('../../server/chain/evm/cost/network-fees.ts')
    const { typical } = costOf(use.estimate, found.fees)
    const rest = `and the limit leaves ${inCoins(left, 'down')}: rows wait`
    if (left < typical) {
      const until = isReserved ? 'until earlier transactions are final, for lower fees' : 'for lower fees'
      const note = `The estimate is ${inCoins(typical, 'up')} ${coin}, ${rest} ${until} or a higher --max-cost.`
      deps.io.note(safe(note))
    } else if (needed !== null && left < needed) {
      const note = `This reserves at most ${inCoins(needed, 'up')} ${coin}, ${rest} until earlier transactions are final. --max-cost ${inCoins(counted + needed, 'up')} avoids that.`
      deps.io.note(safe(note))
    }
  }
  const atFees = needed === null ? null : `${inCoins(needed, 'up')} ${coin}`
  if (left === null) {
    deps.io.note('If fees rise, this can cost more, unless --max-cost limits it.')
    return `, for at most ${atFees} at the current fees`
  }
  const source =
    payable < (limit ?? 0n) ? 'what is left of the limit' : run === undefined ? 'the limit' : 'the limit of the run'
  const now =
    needed === null || needed >= left ? '' : `, ${isReserved ? 'these at most ' : ''}${atFees} at the current fees`
  // Transactions that were signed within another limit keep their price.
  const signed = costs?.pending_transactions ?? 0
  const isSignedAbove = signed > 0 && (costs?.counted == null || BigInt(costs.counted) > (limit ?? 0n))
  const before = isSignedAbove
    ? ` in addition to ${count(signed, 'signed transaction')}`
    : isReserved
      ? ' with what was accepted before'
      : ''
  return `, for at most ${inCoins(payable, 'up')} ${coin}${before} (${source}${now})`
}

/** Prints the notes of `atMostText` where no question is asked. */
export async function noteLimit(
  deps: Pick<Deps, 'io' | 'signals'>,
  connection: Pick<Connection, 'client' | 'server'>,
  blockchain: Blockchain | null,
  requests: PricedRequests,
): Promise<void> {
  if ((requests.limit ?? requests.kept ?? null) !== null) await atMostText(deps, connection, blockchain, requests)
}

/**
 * Returns the limit in coins with which a run can send requests in addition to those that count already; null if the fees
 * or costs are not known.
 */
export async function sufficientLimit(
  deps: Pick<Deps, 'io' | 'signals'>,
  connection: Pick<Connection, 'client' | 'server'>,
  { blockchain, run, worst }: { blockchain: Blockchain; run: string; worst(): Promise<WorstUse> },
): Promise<string | null> {
  const { signal } = deps.signals
  if (!isEvm(blockchain) || signal.aborted) return null
  try {
    const found = await withTimeout(feesOfServer(deps, blockchain, connection), FEES_MS)
    if (found === null) return null
    const costs = await costsOf(connection, run, signal)
    const needed = await costOfRun(await worst(), found.fees, costs)
    return inCoins(BigInt(costs?.counted ?? costs?.fee_paid ?? 0) + needed, 'up')
  } catch (error) {
    if (error instanceof GdnError) return null
    throw error
  }
}

/** Warns of transactions of a run that keep their price, because they were signed within another limit. */
export async function warnOfSigned(
  deps: Pick<Deps, 'io' | 'signals'>,
  connection: Pick<Connection, 'client'>,
  { limit, run }: { limit: bigint; run: string },
): Promise<void> {
  const costs = await soon(deps, costsOf(connection, run, deps.signals.signal))
  const signed = costs?.pending_transactions ?? 0
  const counted = costs?.counted ?? null
  if (signed === 0 || (counted !== null && BigInt(counted) <= limit)) return
  const are = signed === 1 ? 'is' : 'are'
  deps.io.warn(`${count(signed, 'transaction')} ${are} signed already. --max-cost limits only what is not signed yet.`)
}

/** Returns what the server responds; null if it fails or takes too long for a prompt. */
async function soon<T>(deps: Pick<Deps, 'signals'>, response: Promise<T>): Promise<T | null> {
  try {
    return await withTimeout(response, FEES_MS)
  } catch (error) {
    if (!(error instanceof GdnError) || deps.signals.signal.aborted) throw error
    return null
  }
}
