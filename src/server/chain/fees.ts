import type { CostLimitedRun, LimitedRun, UnsignedChange } from '../store/run-costs.ts'

/** The current fees of a network, in wei. */
export interface NetworkFees {
  /** Range of gas prices in recent blocks: a tenth of the blocks are below `low`, and a tenth are above `high`. */
  low: bigint
  typical: bigint
  high: bigint
  /** The highest price that a new transaction offers. */
  offered: bigint
  /** The additional fee for the data of a transaction with `bytes`; zero on most networks. */
  data: { bytes: number; fee: bigint; gas: bigint }
}

/** The current fees as a node returned them. */
export interface CurrentFees extends NetworkFees {
  /** The base fee of the next block, or the gas price on a network without a base fee. */
  base: bigint
}

/** The fees that determine the maximum cost. */
export type MaxCostFees = Pick<NetworkFees, 'offered' | 'data'>

/** The costs of a run with a limit, in wei. */
export interface RunBudget {
  max: bigint
  /** The amount that final transactions paid, plus the maximum that lost transactions may have paid. */
  paid: bigint
  /** Maximum cost of transactions that aren't final. */
  pending: bigint
  /** Maximum cost of accepted NFTs and changes without a transaction. */
  reserved: bigint
  /** The part of `max` that remains after `paid` and `pending`. It includes `reserved`. */
  unspent: bigint
  /** The part of `unspent` that isn't reserved; negative if fees have risen. */
  available: bigint
  /** Number of accepted NFTs without a transaction. */
  unsigned: number
  /** Maximum cost of any transaction that isn't final, or of one NFT, whichever is higher. */
  largest: bigint
  /** Accepted changes without a transaction, with the maximum cost of each. */
  changes: readonly (UnsignedChange & { gasLimit: bigint; maxCost: bigint })[]
}

export const hasMaxCost = (run: LimitedRun): run is CostLimitedRun => run.max_cost !== null
