import { findCollectionById } from '../../../store/collections.ts'
import { type Change, type CostLimitedRun, type LimitedRun, transactionsOfRun } from '../../../store/run-costs.ts'
import type { Db } from '../../../store/schema.ts'
import type { Hex } from '../network.ts'
import { gasOfChange } from './change-gas.ts'
import { debtOf } from './debt.ts'
import { type NetworkFees, worstCost } from './network-fees.ts'

/** What a run with a limit has spent, and the most that it may still spend for what was accepted, in wei. */
export interface RunBudget {
  max: bigint
  /** Paid by final transactions. */
  paid: bigint
  /** The most that transactions which aren't final can cost. */
  pending: bigint
  /** The most that accepted NFTs and changes without a transaction can cost. */
  reserved: bigint
  /** Accepted NFTs without a transaction. */
  unsigned: number
  /** The most that one of its transactions that aren't final can cost, or one NFT. */
  largest: bigint
  /** Accepted changes without a transaction, with the most that each can cost. */
  changes: readonly (Change & { gasLimit: bigint; worst: bigint })[]
}

export const hasMaxCost = (run: LimitedRun): run is CostLimitedRun => run.max_cost !== null

/** The fees by which the worst case is computed. */
export type WorstFees = Pick<NetworkFees, 'offered' | 'data'>

/** Returns the budget of a run. Lock the run first where the result decides what is accepted or signed. */
export async function budgetOf(db: Db, run: CostLimitedRun, fees: WorstFees): Promise<RunBudget> {
  const { open, paid, raws, signed, ...found } = await transactionsOfRun(db, run)
  const unsigned = Math.max(0, open - signed)
  const one = worstOfNft(run, fees)
  let [pending, largest] = [0n, one]
  for (const signings of raws) {
    const worst = worstOfSignings(signings, fees)
    pending += worst
    if (worst > largest) largest = worst
  }
  const isCreated = found.changes.some(({ kind }) => kind === 'collection')
  const collection = isCreated ? await findCollectionById(db, run.collection_id) : null
  const changes = found.changes.map((change) => {
    const gas = gasOfChange({ ...change, collection })
    return { ...change, gasLimit: gas.gasLimit, worst: worstCost(gas, fees) }
  })
  return {
    max: BigInt(run.max_cost),
    paid,
    pending,
    reserved: changes.reduce((sum, { worst }) => sum + worst, BigInt(unsigned) * one),
    unsigned,
    largest,
    changes,
  }
}

/** Returns the most that a transaction can cost, of which any signing may be mined. */
export function worstOfSignings(raws: readonly string[], fees: Pick<NetworkFees, 'data'>): bigint {
  let most = 0n
  for (const raw of raws) {
    const cost = debtOf([raw as Hex], 0).owed + dataCost(raw.length / 2, fees)
    if (cost > most) most = cost
  }
  return most
}

/** Returns the most that one NFT of a run can cost. */
export const worstOfNft = (
  { nft_gas, nft_bytes }: Pick<CostLimitedRun, 'nft_gas' | 'nft_bytes'>,
  fees: WorstFees,
): bigint => worstCost({ gasLimit: BigInt(nft_gas), bytes: nft_bytes }, fees)

/** Returns the most that the data of a transaction can cost in addition to its gas. */
export const dataCost = (bytes: number, { data }: Pick<NetworkFees, 'data'>): bigint =>
  worstCost({ gasLimit: 0n, bytes }, { offered: 0n, data })

/** Returns what is left of a limit. */
export const leftOf = ({ max, paid, pending, reserved }: Omit<RunBudget, 'changes' | 'unsigned'>): bigint =>
  max - paid - pending - reserved
