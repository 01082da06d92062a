import { findCollectionById } from '../../../store/collections.ts'
import { type CostLimitedRun, transactionsOfRun } from '../../../store/run-costs.ts'
import type { Db } from '../../../store/schema.ts'
import type { RunBudget, WorstFees } from '../../fees.ts'
import type { Hex } from '../network.ts'
import { gasOfChange } from './change-gas.ts'
import { callOf } from './debt.ts'
import { worstCost } from './network-fees.ts'
import { limitFee } from './run-fee.ts'

/** Returns the budget of a run. Lock the run first if the result determines whether something is accepted or signed. */
export async function budgetOf(db: Db, run: CostLimitedRun, current: WorstFees): Promise<RunBudget> {
  const fees = withinLimit(run, current)
  const { open, raws, signed, ...stored } = await transactionsOfRun(db, run)
  const unsigned = Math.max(0, open - signed)
  const perNft = worstOfNfts(run, 1, fees)
  let [pending, largest] = [0n, perNft]
  for (const signings of raws) {
    const worst = worstOfSignings(signings, fees)
    pending += worst
    if (worst > largest) largest = worst
  }
  const isCreated = stored.changes.some(({ kind }) => kind === 'collection')
  const collection = isCreated ? await findCollectionById(db, run.collection_id) : null
  const changes = stored.changes.map((change) => {
    const gas = gasOfChange({ ...change, collection })
    return { ...change, gasLimit: gas.gasLimit, worst: worstCost(gas, fees) }
  })
  const paid = stored.lost.reduce((sum, signings) => sum + worstOfSignings(signings, fees), stored.paid)
  const max = BigInt(run.max_cost)
  const reserved = changes.reduce((sum, { worst }) => sum + worst, BigInt(unsigned) * perNft)
  const unspent = max - paid - pending
  return { max, paid, pending, reserved, unspent, left: unspent - reserved, unsigned, largest, changes }
}

/** Returns the maximum cost of a transaction over all its signed versions, because any of them may be mined. */
export function worstOfSignings(raws: readonly string[], fees: Pick<WorstFees, 'data'>): bigint {
  let most = 0n
  for (const raw of raws) {
    const cost = callOf(raw as Hex).cost + dataCost(raw.length / 2, fees)
    if (cost > most) most = cost
  }
  return most
}

/**
 * Returns the part of a run's remaining budget that is available for some of its reserved requests. If fees have risen
 * so much that the remaining budget is less than the reserved amount, each request gets a proportional share.
 */
export const shareOf = ({ left, reserved }: Pick<RunBudget, 'left' | 'reserved'>, worst: bigint): bigint =>
  left < 0n && worst > 0n ? worst + (left * worst) / reserved : worst + left

/** Returns the maximum cost of a number of NFTs of a run. Rounds up for each NFT, as reservations do. */
export const worstOfNfts = (run: CostLimitedRun, count: number, fees: WorstFees): bigint =>
  BigInt(count) * worstCost({ gasLimit: BigInt(run.nft_gas), bytes: run.nft_bytes }, withinLimit(run, fees))

const withinLimit = ({ max_fee }: CostLimitedRun, { data, offered }: WorstFees): WorstFees => ({
  data,
  offered: limitFee(offered, max_fee),
})

/** Returns the maximum cost of a transaction's data in addition to its gas. */
export const dataCost = (bytes: number, { data }: Pick<WorstFees, 'data'>): bigint =>
  worstCost({ gasLimit: 0n, bytes }, { offered: 0n, data })
