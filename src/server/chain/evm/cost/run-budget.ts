import { findCollectionById } from '../../../store/collections.ts'
import { type CostLimitedRun, readTransactionsOfRun } from '../../../store/run-costs.ts'
import type { Db } from '../../../store/schema.ts'
import type { MaxCostFees, RunBudget } from '../../fees.ts'
import type { Hex } from '../network.ts'
import { computeMaxChangeGas } from './change-gas.ts'
import { parsePendingCall } from './debt.ts'
import { computeMaxCost } from './network-fees.ts'
import { limitFee } from './run-fee.ts'

/** Returns the budget of a run. Lock the run first if the result determines whether something is accepted or signed. */
export async function readRunBudget(db: Db, run: CostLimitedRun, current: MaxCostFees): Promise<RunBudget> {
  const fees = limitMaxCostFees(run, current)
  const { open, signings: raws, signed, ...stored } = await readTransactionsOfRun(db, run)
  const unsigned = Math.max(0, open - signed)
  const perNft = computeMaxCostOfNfts(run, 1, fees)
  let [pending, largest] = [0n, perNft]
  for (const signings of raws) {
    const cost = maxCostOfSignings(signings, fees)
    pending += cost
    if (cost > largest) largest = cost
  }
  const isCreated = stored.changes.some(({ kind }) => kind === 'collection')
  const collection = isCreated ? await findCollectionById(db, run.collection_id) : null
  const changes = stored.changes.map((change) => {
    const gas = computeMaxChangeGas({ ...change, collection })
    return { ...change, gasLimit: gas.gasLimit, maxCost: computeMaxCost(gas, fees) }
  })
  const paid = stored.lostSignings.reduce((sum, signings) => sum + maxCostOfSignings(signings, fees), stored.paid)
  const max = BigInt(run.max_cost)
  const reserved = changes.reduce((sum, { maxCost }) => sum + maxCost, BigInt(unsigned) * perNft)
  const unspent = max - paid - pending
  return { max, paid, pending, reserved, unspent, available: unspent - reserved, unsigned, largest, changes }
}

/** Returns the maximum cost of a transaction over all its signed versions, because any of them may be mined. */
export function maxCostOfSignings(raws: readonly string[], fees: Pick<MaxCostFees, 'data'>): bigint {
  let maxCost = 0n
  for (const raw of raws) {
    const cost = parsePendingCall(raw as Hex).cost + dataCost(raw.length / 2, fees)
    if (cost > maxCost) maxCost = cost
  }
  return maxCost
}

/**
 * Returns the part of a run's remaining budget that is available for some of its reserved requests. If fees have risen
 * so much that the remaining budget is less than the reserved amount, each request gets a proportional share.
 */
export const computeBudgetShare = (
  { available, reserved }: Pick<RunBudget, 'available' | 'reserved'>,
  needed: bigint,
): bigint => (available < 0n && needed > 0n ? needed + (available * needed) / reserved : needed + available)

/** Returns the maximum cost of a given number of a run's NFTs. Rounds up for each NFT, as reservations do. */
export const computeMaxCostOfNfts = (run: CostLimitedRun, count: number, fees: MaxCostFees): bigint =>
  BigInt(count) * computeMaxCost({ gasLimit: BigInt(run.nft_gas), bytes: run.nft_bytes }, limitMaxCostFees(run, fees))

const limitMaxCostFees = ({ max_fee }: CostLimitedRun, { data, offered }: MaxCostFees): MaxCostFees => ({
  data,
  offered: limitFee(offered, max_fee),
})

/** Returns the maximum cost of a transaction's data in addition to its gas. */
export const dataCost = (bytes: number, { data }: Pick<MaxCostFees, 'data'>): bigint =>
  computeMaxCost({ gasLimit: 0n, bytes }, { offered: 0n, data })
