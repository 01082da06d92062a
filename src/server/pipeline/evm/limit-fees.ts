import { maxBigint } from '../../../core/units.ts'
import { ENVELOPE_BYTES } from '../../chain/evm/cost/drop-gas.ts'
import {
  computeBudgetShare,
  computeMaxCostOfNfts,
  dataCost,
  maxCostOfSignings,
  readRunBudget,
} from '../../chain/evm/cost/run-budget.ts'
import { explainLimitWait, isTooExpensive, limitFees } from '../../chain/evm/cost/run-fee.ts'
import type { Fees, Hex } from '../../chain/evm/network.ts'
import { type CurrentFees, hasMaxCost, type MaxCostFees } from '../../chain/fees.ts'
import {
  type CostLimitedRun,
  type LimitedRun,
  limitedRuns,
  lockRun,
  lockRunOfCollection,
} from '../../store/run-costs.ts'
import type { Db } from '../../store/schema.ts'
import type { TransactionRow } from '../../store/transactions.ts'
import { LostRaceError } from '../driver.ts'

/** A transaction of a run with a limit. Contains the call, and the NFTs and changes for which the cost was reserved. */
interface ReservedCall {
  gas: bigint
  data: Hex
  nfts?: readonly unknown[]
  /** IDs of updates, or the ID of a transfer or a collection. */
  changes?: readonly string[]
}

/**
 * Returns the fees at which a call may be signed so that the run stays within its limits in the worst case. Returns
 * null if blocks currently wouldn't include the call at these fees.
 */
export async function computeFeesWithinLimits(
  db: Db,
  run: LimitedRun,
  call: ReservedCall,
  suggested: Fees,
  current: CurrentFees,
): Promise<Fees | null> {
  if (isTooExpensive(run.max_fee, current)) return null
  const fees = limitFees(suggested, run.max_fee)
  if (!hasMaxCost(run)) return fees
  const { maxFee } = await computeMaxFee(db, run, call, { offered: fees.maxFeePerGas, data: current.data })
  if (maxFee >= fees.maxFeePerGas) return fees
  if (maxFee < minFee(fees, current)) return null
  const { maxPriorityFeePerGas: priority } = fees
  const isBelow = priority < maxFee
  return { maxFeePerGas: maxFee, maxPriorityFeePerGas: isBelow ? priority : maxFee }
}

/**
 * Returns the lowest acceptable gas price. A legacy gas price can't be lowered, because it is already the lowest that
 * blocks accept.
 */
const minFee = ({ maxFeePerGas, legacy }: Fees, { typical }: CurrentFees): bigint => (legacy ? maxFeePerGas : typical)

/**
 * Returns the maximum gas price of a call at which its run stays within its cost limit. Also returns the cost limit
 * that would suffice for the call and all other accepted requests.
 */
async function computeMaxFee(
  db: Db,
  run: CostLimitedRun,
  { gas, data, nfts = [], changes = [] }: ReservedCall,
  upperBound: MaxCostFees,
): Promise<{ maxFee: bigint; sufficientLimit: bigint }> {
  const budget = await readRunBudget(db, run, upperBound)
  const reserve = budget.changes
    .filter(({ id }) => changes.includes(id))
    .reduce(
      (sum, change) => sum + change.maxCost,
      BigInt(Math.min(nfts.length, budget.unsigned)) * computeMaxCostOfNfts(run, 1, upperBound),
    )
  const dataFee = dataCost(data.length / 2 + ENVELOPE_BYTES, upperBound)
  // If a request is minted in parts, a part can cost more than was reserved for it.
  const excess = gas * upperBound.offered + dataFee - reserve
  return {
    maxFee: (computeBudgetShare(budget, reserve) - dataFee) / gas,
    sufficientLimit: budget.max - budget.available + maxBigint(0n, excess),
  }
}

/** Returns why a run's cost limit prevents signing a call for the run. Returns null if the limit doesn't prevent it. */
export async function findCostWaitReason(
  db: Db,
  run: CostLimitedRun,
  call: ReservedCall,
  suggested: Fees,
  current: CurrentFees,
): Promise<string | null> {
  const fees = limitFees(suggested, run.max_fee)
  const upperBound = { offered: fees.maxFeePerGas, data: current.data }
  const { maxFee, sufficientLimit } = await computeMaxFee(db, run, call, upperBound)
  const lowest = minFee(fees, current)
  if (maxFee >= lowest || maxFee >= fees.maxFeePerGas) return null
  return explainLimitWait(lowest, maxBigint(0n, maxFee), sufficientLimit)
}

/** Returns why a run's cost limit blocks the run's next change. Returns null if the limit doesn't block it. */
export async function findChangeWaitReason(
  db: Db,
  run: CostLimitedRun,
  fees: Fees,
  current: CurrentFees,
): Promise<string | null> {
  const [first] = (await readRunBudget(db, run, current)).changes
  if (first === undefined) return null
  return await findCostWaitReason(db, run, { gas: first.gasLimit, data: '0x', changes: [first.id] }, fees, current)
}

/**
 * Returns the fees for signing a call in this database transaction. If the run has a limit, locks the run until the
 * database transaction ends.
 *
 * @throws LostRace if the limit no longer allows the call
 */
export async function resolveSigningFees(
  db: Db,
  run: LimitedRun | null,
  call: ReservedCall,
  suggested: Fees,
  current: CurrentFees | null,
): Promise<Fees> {
  if (run === null || current === null) return suggested
  const { max_cost, max_fee } = await lockRun(db, { accountId: run.account_id, run: run.run })
  const fees = await computeFeesWithinLimits(db, { ...run, max_cost, max_fee }, call, suggested, current)
  if (fees === null) throw new LostRaceError()
  return fees
}

/** The columns that identify the run of a pending transaction. */
type RunColumns = Pick<TransactionRow, 'run' | 'run_collection_id'>

/** Returns the run of a pending transaction if it has a limit; null otherwise. */
export async function findLimitedRun(db: Db, { run, run_collection_id: id }: RunColumns): Promise<LimitedRun | null> {
  if (run === null || id === null) return null
  return (await limitedRuns(db, id)).find((limited) => limited.run === run) ?? null
}

/**
 * Returns the maximum gas price at which a call may replace a pending transaction so that its run stays within its cost
 * limit. Returns null without such a limit.
 *
 * @param signings all signed versions of the transaction so far
 */
export async function findMaxReplacementFee(
  db: Db,
  current: CurrentFees,
  transaction: RunColumns,
  signings: readonly string[],
  { gas, data }: Pick<ReservedCall, 'gas' | 'data'>,
): Promise<bigint | null> {
  const run = await findLimitedRun(db, transaction)
  if (run === null || !hasMaxCost(run)) return null
  const { unspent } = await readRunBudget(db, run, current)
  const dataFee = dataCost(data.length / 2 + ENVELOPE_BYTES, current)
  return (maxCostOfSignings(signings, current) + maxBigint(0n, unspent) - dataFee) / gas
}

/**
 * Returns whether a pending transaction may be signed again at a higher cost. The replacement takes precedence over
 * NFTs of the run for which no transaction is signed yet. Locks the run until the database transaction ends.
 *
 * @param signings all signed versions of the transaction so far
 */
export async function mayReplace(
  db: Db,
  current: CurrentFees | null,
  { run: name, run_collection_id: collection_id }: RunColumns,
  signings: readonly string[],
  raw: Hex,
): Promise<boolean> {
  if (current === null || name === null || collection_id === null) return true
  // Read the run under the lock. Otherwise, a limit that is set at the same time wouldn't count the new signed version.
  const run = await lockRunOfCollection(db, { collection_id, run: name })
  if (!hasMaxCost(run)) return true
  const { unspent } = await readRunBudget(db, run, current)
  const increase = maxCostOfSignings([...signings, raw], current) - maxCostOfSignings(signings, current)
  return increase === 0n || increase <= unspent
}

/** Returns the gas price limit of the run of a pending transaction; null without a limit. */
export const findMaxGasPrice = async (db: Db, transaction: RunColumns): Promise<string | null> =>
  (await findLimitedRun(db, transaction))?.max_fee ?? null
