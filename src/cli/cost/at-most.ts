import { type Blockchain, isEvm } from '../../api/blockchains.ts'
import { isStuckReason } from '../../api/stuck-reason.ts'
import { type RunCosts, readRunCosts } from '../../client/run-costs.ts'
import { count } from '../../core/count.ts'
import { GdnError } from '../../core/errors.ts'
import { formatCoins, formatGwei, maxBigint } from '../../core/units.ts'
import { withTimeout } from '../../core/with-timeout.ts'
import type { DropGas } from '../../server/chain/evm/cost/drop-gas.ts'
import type { NetworkFees } from '../../server/chain/fees.ts'
import { isWithoutValue } from '../connect/is-without-value.ts'
import type { Connection, Deps } from '../deps.ts'
import { safe } from '../io/io.ts'
import { typicalCost } from './estimate.ts'
import { type FeesWithSource, readServerFees } from './fees.ts'
import {
  type CostReservation,
  countCostAtMaxFee,
  estimateMaxRunCost,
  estimateSufficientLimit,
  findRunLimit,
  type MaximumUse,
  type RemainingLimit,
  remainingLimit,
  reservedForChanges,
  sumUses,
  toRunMaxFee,
} from './run-limit.ts'

/** Maximum time that a prompt waits for fees and costs, in milliseconds. */
const FEES_TIMEOUT_MS = 5_000

/**
 * The maximum gas and data of requests. `estimate` is set for mints, because a limit may permit less than this maximum.
 */
export type PricedUse = MaximumUse & { estimate?: DropGas }

/** The requests that a prompt describes. */
export interface PricedRequests {
  /** The cost limit of this command, in wei; null if it has none. */
  limit: bigint | null
  /** The run's limit, as stored on this machine, in wei. */
  storedLimit?: bigint | null
  /** Finds the blockchain of the requests if the command doesn't specify it. */
  findBlockchain?(): Promise<Blockchain | null>
  /** The maximum fee of this command, in wei. */
  maxFee?: bigint | null
  /** The run to which the limit applies. If undefined, the limit applies only to these requests. */
  run?: string
  /**
   * Returns the gas and data of the requests, assuming a separate transaction for each. Called only if the server's
   * fees are known.
   */
  maxUse(): Promise<PricedUse>
  /** The gas and data of accepted requests that can continue because of this command; null if there are none. */
  accepted?: MaximumUse | null
}

/** The maximum cost of requests, for a prompt. */
export interface MaximumCost {
  /**
   * The end of the question, such as `, for at most 0.05 ETH (the limit)`. Empty if the cost is unknown or the coins
   * have no value.
   */
  text: string
  /** Notes to print before the prompt, for example that rows will wait because of the limit. */
  notes: readonly string[]
}

const NO_COST: MaximumCost = { text: '', notes: [] }

/**
 * Returns the maximum cost of requests. With a limit, this is the remaining part of the limit, including the run's
 * pending requests. Without a limit, it is a worst-case estimate at the current fees, with a note that fees can rise.
 */
export async function findMaximumCost(
  deps: Pick<Deps, 'io' | 'signals'>,
  connection: Pick<Connection, 'client' | 'server'>,
  blockchain: Blockchain | null,
  { limit: commandLimit, storedLimit = null, maxFee = null, run, maxUse, accepted = null }: PricedRequests,
): Promise<MaximumCost> {
  if (blockchain === null || !isEvm(blockchain) || isWithoutValue(blockchain, connection)) return NO_COST
  const [foundFees, costs] = await Promise.all([
    withinTime(deps, readServerFees(deps, blockchain, connection)),
    run === undefined ? null : withinTime(deps, readRunCosts(connection, run, deps.signals.signal)),
  ])
  const fresh = foundFees === null ? null : await maxUse()
  const use = fresh === null ? null : addAccepted(fresh, accepted)
  const highest = maxFee ?? toRunMaxFee(costs)
  const needed = foundFees === null || use === null ? null : await estimateMaxRunCost(use, foundFees.fees, highest)
  // The amount that the server counts already includes accepted rows.
  const added = costs?.counted == null ? use : fresh
  const sufficientLimitWei =
    foundFees === null || added?.estimate === undefined
      ? null
      : await estimateSufficientLimit(toReservation(added), foundFees.fees, { costs, maxFee: highest })
  const limit = findRunLimit({ commandLimit, storedLimit }, costs)
  const { counted, remaining, payable } =
    limit === null ? { counted: 0n, remaining: null, payable: 0n } : remainingLimit(limit, costs)
  const isReserved = remaining !== null && payable > remaining
  if (needed === null && remaining === null) return NO_COST
  const notes: (string | null)[] = []
  if (foundFees !== null && needed !== 0n) notes.push(await describeMaxFee(foundFees, highest))
  const coin = foundFees?.coin ?? 'coins'
  if (foundFees !== null && use !== null && needed !== null) {
    notes.push(
      await describeLackingFunds(foundFees, {
        needed,
        smallest: smallestGasLimit(use, run),
        payable: limit && payable,
      }),
    )
  }
  if (foundFees !== null && use?.estimate !== undefined && sufficientLimitWei !== null && limit !== null) {
    const then = countCostAtMaxFee(costs, foundFees.fees, highest)
    const typical = await typicalCost(use.estimate, withinMaxFee(foundFees.fees, highest))
    const estimate = { typical, reserved: sufficientLimitWei - then }
    notes.push(describeLimit(estimate, { counted: then, remaining: maxBigint(0n, limit - then), isReserved, coin }))
  }
  const atFees = needed === null ? null : `${formatCoins(needed, 'up')} ${coin}`
  if (limit === null || remaining === null) {
    if (foundFees !== null && use !== null) notes.push(await describeFeeRise(use, foundFees, highest))
    const estimated = `, for an estimated maximum of ${atFees} at the current fees`
    return { text: needed === 0n ? ', without a transaction' : estimated, notes: notes.filter(isNote) }
  }
  const ofThese = isReserved && accepted === null ? 'for these ' : ''
  const costNow =
    needed === null || needed >= remaining ? '' : `, ${ofThese}an estimated maximum of ${atFees} at the current fees`
  const source = payable < limit ? 'the remaining limit' : run === undefined ? 'the limit' : 'the limit of the run'
  const text = limitQuestionText(costs, { limit, counted, remaining, payable }, { coin, source, now: costNow })
  return { text, notes: notes.filter(isNote) }
}

const isNote = (note: string | null): note is string => note !== null

export function printNotes({ io }: Pick<Deps, 'io'>, notes: MaximumCost['notes']): void {
  for (const note of notes) io.note(safe(note))
}

/** Returns a note that rows will wait because of a limit; null if no rows will. Amounts are in wei. */
function describeLimit(
  { typical, reserved }: { typical: bigint; reserved: bigint },
  { counted, remaining, isReserved, coin }: { counted: bigint; remaining: bigint; isReserved: boolean; coin: string },
): string | null {
  const addition = isReserved ? ' in addition to the reserved amount' : ''
  const rest = `${coin}${addition}, but only ${formatCoins(remaining, 'down')} ${coin} of the limit is left`
  const sufficientLimitText = `--max-cost ${formatCoins(counted + reserved, 'up')}`
  if (remaining < typical) {
    return `The estimate is ${formatCoins(typical, 'up')} ${rest}. Unless fees fall, the limit is reached before all rows are sent. ${sufficientLimitText} is enough at the current fees.`
  }
  if (remaining >= reserved) return null
  return `The run reserves at most ${formatCoins(reserved, 'up')} ${rest}, so rows wait until earlier transactions are final. To avoid that, use ${sufficientLimitText}.`
}

/** Returns the end of the question for requests with a limit. */
function limitQuestionText(
  costs: RunCosts | null,
  { limit, counted, remaining, payable }: RemainingLimit & { limit: bigint },
  { coin, source, now }: { coin: string; source: string; now: string },
): string {
  // Transactions that were signed under an earlier limit keep their price.
  const signed = costs?.pending_transactions ?? 0
  const isSignedAbove = signed > 0 && (costs?.counted == null || counted > limit)
  const transactions = count(signed, 'signed transaction')
  const before = isSignedAbove
    ? ` in addition to ${transactions}`
    : payable > remaining
      ? ' including requests that are already accepted'
      : ''
  const paid = BigInt(costs?.fee_paid ?? 0)
  if (paid > limit)
    return `${before}, although the amount already spent (${formatCoins(paid)} ${coin}) exceeds the limit`
  if (payable === 0n) return `${before}, although the limit is used up`
  if (isSignedAbove && costs?.counted != null) {
    const maxText = formatCoins(payable + counted - limit, 'up')
    return `, for at most ${maxText} ${coin} including ${transactions} (the limit of ${formatCoins(limit)} ${coin} permits nothing more until ${signed === 1 ? 'it is' : 'they are'} final${now})`
  }
  return `, for at most ${formatCoins(payable, 'up')} ${coin}${before} (${source}${now})`
}

const addAccepted = (use: PricedUse, accepted: MaximumUse | null): PricedUse =>
  accepted === null ? use : { ...use, ...sumUses([use, accepted]) }

/**
 * Returns the gas limit of the smallest transaction; undefined if unknown. A request without a run is a single
 * transaction.
 */
const smallestGasLimit = ({ estimate, gasLimit }: PricedUse, run: string | undefined): bigint | undefined =>
  estimate?.worst.smallestMint ?? (run === undefined ? gasLimit : undefined)

/**
 * Returns a note on how much requests without a cost limit can cost if fees rise.
 *
 * @param highest the maximum fee of their run, in wei; null if it has none
 */
async function describeFeeRise(
  use: MaximumUse,
  { fees, coin }: FeesWithSource,
  highest: bigint | null,
): Promise<string> {
  if (highest === null || highest <= fees.offered) {
    return 'If fees rise, the cost can be higher, unless you set --max-cost.'
  }
  const maxWei = await estimateMaxRunCost(use, { ...fees, offered: highest }, null)
  return `If fees rise, the cost can be up to ${formatCoins(maxWei, 'up')} ${coin ?? 'coins'} at the maximum fee of ${formatGwei(highest)} gwei, unless you set --max-cost.`
}

/**
 * Returns a note if no signer has enough funds for the maximum cost. This isn't an error, because the requests may cost
 * less.
 */
async function describeLackingFunds(
  { funds, fees, coin }: FeesWithSource,
  { needed, smallest = 0n, payable }: { needed: bigint; smallest: bigint | undefined; payable: bigint | null },
): Promise<string | null> {
  if (funds === null || needed === 0n) return null
  const { minSignerFunds, computeReserve } = await import('../../server/chain/evm/cost/funding.ts')
  const all = needed + computeReserve(smallest, fees)
  const maxWei = payable === null ? null : payable + minSignerFunds({ maxFeePerGas: fees.offered })
  const need = maxWei !== null && maxWei < all ? maxWei : all
  const free = maxBigint(funds.balance - funds.owed, 0n)
  if (free >= need) return null
  const unit = coin ?? 'coins'
  const has = `The signer ${funds.signer} has ${formatCoins(free, 'down')} ${unit}`
  const rest = funds.owed === 0n ? '' : ' left after its pending transactions'
  return `${has}${rest}, but the command may need ${formatCoins(need, 'up')} ${unit} (see \`to fund\` in gdn cost).`
}

/**
 * Returns the amount that a backend reserves for requests. For mints, the amount is higher than their maximum cost.
 */
export function toReservation({ gasLimit, bytes, estimate }: PricedUse): CostReservation {
  if (estimate === undefined) return reservedForChanges({ gasLimit, bytes })
  const { reserved, worst } = estimate
  return { ...reserved, changes: { gasLimit: gasLimit - worst.gasLimit, bytes: bytes - worst.bytes } }
}

/** Returns a note if the current block requires a higher fee than the maximum fee of a run. */
async function describeMaxFee({ fees }: FeesWithSource, maxFee: bigint | null): Promise<string | null> {
  const { isTooExpensive, sufficientFee } = await import('../../server/chain/evm/cost/run-fee.ts')
  // `typical` stands in for the base fee, which the server doesn't report. It also includes the priority fee, which the
  // server may not need.
  const base = fees.typical
  if (!isTooExpensive(maxFee === null ? null : String(maxFee), { base })) return null
  return `Blocks currently require ${formatGwei(base)} gwei, but the run pays at most ${formatGwei(maxFee ?? 0n)} gwei, so rows may wait for lower fees. --max-fee-gwei ${formatGwei(sufficientFee(base), 'up')} is enough at the current fees.`
}

/**
 * Prints the notes of `findMaximumCost` for a command without a prompt. Without a limit, prints only the notes about
 * the maximum fee and the signer's funds.
 */
export async function noteCost(
  deps: Pick<Deps, 'io' | 'signals'>,
  connection: Pick<Connection, 'client' | 'server'>,
  blockchain: Blockchain,
  requests: PricedRequests,
): Promise<void> {
  const { limit, storedLimit = null, maxFee = null, maxUse } = requests
  if ((limit ?? storedLimit) !== null) {
    return printNotes(deps, (await findMaximumCost(deps, connection, blockchain, requests)).notes)
  }
  if (!isEvm(blockchain) || isWithoutValue(blockchain, connection)) return
  const foundFees = await withinTime(deps, readServerFees(deps, blockchain, connection))
  if (foundFees === null) return
  const use = await maxUse()
  const needed = await estimateMaxRunCost(use, foundFees.fees, maxFee)
  const ofMaxFee = needed === 0n ? null : await describeMaxFee(foundFees, maxFee)
  const ofFunds = await describeLackingFunds(foundFees, {
    needed,
    smallest: smallestGasLimit(use, requests.run),
    payable: null,
  })
  printNotes(deps, [ofMaxFee, ofFunds].filter(isNote))
}

/**
 * Returns a limit, in coins, that is sufficient for further requests of a run. The limit includes the amount that is
 * already counted. Returns null if fees or costs are unknown.
 */
export async function sufficientLimit(
  deps: Pick<Deps, 'io' | 'signals'>,
  connection: Pick<Connection, 'client' | 'server'>,
  { blockchain, run, reserved }: { blockchain: Blockchain; run: string; reserved(): Promise<CostReservation> },
): Promise<string | null> {
  const { signal } = deps.signals
  if (!isEvm(blockchain) || signal.aborted) return null
  try {
    // Read the unsent rows before the costs. A row that is accepted between the two reads is counted twice rather than
    // not at all.
    const use = await reserved()
    const foundFees = await withTimeout(readServerFees(deps, blockchain, connection), FEES_TIMEOUT_MS)
    if (foundFees === null) return null
    const costs = await readRunCosts(connection, run, signal)
    const maxFee = await maxFeeAfterRaise(costs, foundFees)
    return formatCoins(await estimateSufficientLimit(use, foundFees.fees, { costs, maxFee }), 'up')
  } catch (error) {
    if (error instanceof GdnError) return null
    throw error
  }
}

/** Returns the fees, with the typical fee capped at the run's maximum fee. */
const withinMaxFee = (fees: NetworkFees, maxFee: bigint | null): NetworkFees =>
  maxFee !== null && fees.typical > maxFee ? { ...fees, typical: maxFee } : fees

/** Returns the maximum fee of a run. If blocks require more, returns the higher fee that hints suggest. */
async function maxFeeAfterRaise(costs: RunCosts | null, { fees }: FeesWithSource): Promise<bigint | null> {
  if (costs?.max_fee == null) return null
  const { isTooExpensive, sufficientFee } = await import('../../server/chain/evm/cost/run-fee.ts')
  const base = fees.typical
  return isTooExpensive(costs.max_fee, { base }) ? sufficientFee(base) : BigInt(costs.max_fee)
}

/** The unsent part of a run and the maximum gas and data that it uses. */
export interface UnsentUse {
  /** Number of rows that were not sent. */
  rows: number
  /** Number of NFT changes that aren't complete. Includes accepted ones. */
  changes?: number
  maxUse: MaximumUse
  /** The gas limit of the smallest request with rows; 0 if there are changes or no rows. */
  smallestMint?: bigint | undefined
  /** The part of a limit that a server reserves for unsent rows. Default: `maxUse`. */
  reserved?: CostReservation
}

interface WaitingRun {
  blockchain: Blockchain
  run: string
  unsent(): Promise<UnsentUse>
}

/**
 * Returns a sentence that describes the funds that a signer lacks for a whole run. The amount includes accepted
 * requests, and the other rows and changes that the run's limit permits. Returns null if no signer lacks funds, or if
 * the server doesn't report funds. If the run waits for another reason, returns that reason.
 */
export async function describeRunShortage(
  deps: Pick<Deps, 'io' | 'signals'>,
  connection: Pick<Connection, 'client' | 'server'>,
  { blockchain, run, unsent }: WaitingRun,
): Promise<string | null> {
  const { signal } = deps.signals
  if (!isEvm(blockchain) || signal.aborted) return null
  try {
    // Read the unsent rows before the costs. A row that is accepted between the two reads is counted twice rather than
    // not at all.
    const { rows, changes = 0, maxUse, smallestMint = 0n, reserved = reservedForChanges(maxUse) } = await unsent()
    const costs = connection.client.supports('runCosts') === true ? await readRunCosts(connection, run, signal) : null
    const foundFees = await withTimeout(readServerFees(deps, blockchain, connection), FEES_TIMEOUT_MS)
    const lack = foundFees?.shortage ?? null
    if (foundFees === null || lack === null) return null
    const [{ describeMissingFunds }, { minSignerFunds, computeReserve }, { explainFeeWait, waitsForLowerFees }] =
      await Promise.all([
        import('../../server/chain/missing-funds.ts'),
        import('../../server/chain/evm/cost/funding.ts'),
        import('../../server/chain/evm/cost/run-fee.ts'),
      ])
    const reason =
      costs?.waiting ??
      (costs?.max_fee == null ? null : explainFeeWait(costs.max_fee, { base: foundFees.fees.typical }))
    if (reason !== null && (waitsForLowerFees(reason) || isStuckReason(reason))) return reason
    const { fees, coin } = foundFees
    const { signer, balance, needed, waitingNfts: nfts } = lack
    const payer = { role: 'signer', address: signer, blockchain, coin } as const
    // The smallest transaction leaves the highest reserve. A signer needs only the highest of all reserves.
    const ownReserve = computeReserve(smallestMint, fees)
    const reserve = rows + changes === 0 ? lack.reserve : nfts === 0 ? ownReserve : maxBigint(lack.reserve, ownReserve)
    const maxFee = toRunMaxFee(costs)
    const cost = await estimateMaxRunCost(maxUse, fees, maxFee)
    const all = { nfts, unsent: rows, changes, wei: needed - lack.reserve + cost + reserve }
    const limit = findRunLimit({ commandLimit: null, storedLimit: null }, costs)
    if (limit === null) return describeMissingFunds(payer, balance, balance + 1n, all)
    const { counted, remaining, payable } = remainingLimit(limit, costs)
    // If no accepted rows or changes wait for funds, new funds don't release a reserved amount.
    const available = nfts + changes === 0 ? remaining : payable
    const next = smallestRequest({ rows, changes, maxUse, smallestMint })
    const nextCost = next === null ? 0n : await estimateMaxRunCost(next, fees, maxFee)
    if (nextCost > available) {
      const sufficientLimitWei = await estimateSufficientLimit(reserved, fees, { costs, maxFee })
      const unit = coin ?? 'coins'
      const waits = nextCost > payable ? 'waiting for lower fees' : 'waiting until earlier transactions are final'
      const addition = available < payable ? ' in addition to the reserved amount' : ''
      return `${waits}: the next ${rows > 0 ? 'row' : 'change'} may cost ${formatCoins(nextCost, 'up')} ${unit} at the current fees, but only ${formatCoins(available, 'down')} ${unit} of the run's limit is left${addition}; repeat the run's command with --max-cost ${formatCoins(sufficientLimitWei, 'up')} or more to raise the limit`
    }
    const minFunds = minSignerFunds({ maxFeePerGas: fees.offered })
    // The signer also pays for accepted requests of other runs, which `needed` includes. Both `needed` and `counted`
    // include the accepted requests of this run.
    const maxWei = maxBigint(payable + minFunds, needed + limit - counted)
    const isLimited = maxWei < all.wei && maxWei > balance
    return describeMissingFunds(
      payer,
      balance,
      balance + 1n,
      isLimited ? { ...all, wei: maxWei, remainingLimit: payable } : all,
    )
  } catch (error) {
    if (error instanceof GdnError) return null
    throw error
  }
}

/** Returns the gas and data of the smallest request that a run has left; null if nothing is left. */
function smallestRequest({ rows, changes = 0, maxUse, smallestMint = 0n }: UnsentUse): MaximumUse | null {
  const count = rows + changes
  if (count === 0) return null
  if (smallestMint > 0n) return { gasLimit: smallestMint, bytes: 0 }
  return { gasLimit: maxUse.gasLimit / BigInt(count), bytes: Math.floor(maxUse.bytes / count) }
}

/** Warns about transactions of a run that keep their price because they were signed under an earlier limit. */
export async function warnOfSignedTransactions(
  deps: Pick<Deps, 'io' | 'signals'>,
  connection: Pick<Connection, 'client'>,
  { limit, run }: { limit: bigint; run: string },
): Promise<void> {
  const costs = await withinTime(deps, readRunCosts(connection, run, deps.signals.signal))
  const signed = costs?.pending_transactions ?? 0
  const counted = costs?.counted ?? null
  if (signed === 0 || (counted !== null && BigInt(counted) <= limit)) return
  const are = signed === 1 ? 'is' : 'are'
  deps.io.warn(
    `${count(signed, 'transaction')} ${are} already signed. --max-cost limits only transactions that are not signed yet.`,
  )
}

/** Returns the server's response; null if the request fails or takes too long for a prompt. */
async function withinTime<T>(deps: Pick<Deps, 'signals'>, response: Promise<T>): Promise<T | null> {
  try {
    return await withTimeout(response, FEES_TIMEOUT_MS)
  } catch (error) {
    if (!(error instanceof GdnError) || deps.signals.signal.aborted) throw error
    return null
  }
}
