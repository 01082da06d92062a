import type { Change, CostLimitedRun, LimitedRun } from '../store/run-costs.ts'

/** The current fees of a network, in wei. */
export interface NetworkFees {
  /** Gas prices: a tenth of recent blocks is below `low`, and a tenth is above `high`. */
  low: bigint
  typical: bigint
  high: bigint
  /** The highest price that a transaction signed now offers. */
  offered: bigint
  /** The additional fee for the data of a transaction with `bytes`; zero on most networks. */
  data: { bytes: number; fee: bigint; gas: bigint }
}

/** Same, as a node returned it. */
export interface CurrentFees extends NetworkFees {
  /** The base fee of the next block. On a network without one, the gas price. */
  base: bigint
}

/** The fees by which the worst case is computed. */
export type WorstFees = Pick<NetworkFees, 'offered' | 'data'>

/** The costs of a run with a limit, and the most that its accepted requests can still cost, in wei. */
export interface RunBudget {
  max: bigint
  /** The amount that final transactions paid, and the maximum that lost transactions can have paid. */
  paid: bigint
  /** The most that transactions which aren't final can cost. */
  pending: bigint
  /** The most that accepted NFTs and changes without a transaction can cost. */
  reserved: bigint
  /** The part of `max` that transactions leave, which requests without one have reserved in part. */
  unspent: bigint
  /** The part of `unspent` that isn't reserved; negative if fees have risen. */
  left: bigint
  /** Accepted NFTs without a transaction. */
  unsigned: number
  /** The most that one of its transactions that aren't final can cost, or one NFT. */
  largest: bigint
  /** Accepted changes without a transaction, with the most that each can cost. */
  changes: readonly (Change & { gasLimit: bigint; worst: bigint })[]
}

export const hasMaxCost = (run: LimitedRun): run is CostLimitedRun => run.max_cost !== null
