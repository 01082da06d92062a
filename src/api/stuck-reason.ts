import { formatGwei } from '../core/units.ts'

interface StuckTransaction {
  hash: string
  /** The transaction's maximum gas price, and the gas price that the next block requires. Both are in wei. */
  offeredWei: bigint
  neededWei: bigint
  /** The flags with limits that are high enough, such as `--max-cost 0.5`. */
  flags: string
}

/** Returns why a signed transaction is stuck: its run's limit doesn't allow a higher fee. */
export const stuckReason = ({ hash, offeredWei, neededWei, flags }: StuckTransaction): string =>
  `the transaction ${hash} is stuck: the next block needs ${formatGwei(neededWei)} gwei, but the transaction offers at most ${formatGwei(offeredWei)} gwei, and the limit of its run allows no higher fee; repeat the run's command with ${flags} or more to raise the limit`

/** Returns whether a run waits because a transaction is stuck under the run's limit. */
export const isStuckReason = (reason: string | null | undefined): boolean =>
  /the transaction 0x[0-9a-f]{64} is stuck: /.test(reason ?? '')

/** Returns the flags with higher limits from the text of a reason why a run waits; null if the text contains none. */
export const parseRaisingFlags = (reason: string | null | undefined): string | null =>
  /; repeat the run's command with ((?:--max-(?:cost|fee-gwei) [0-9.]+ )+)or more to raise the limit/
    .exec(reason ?? '')?.[1]
    ?.trimEnd() ?? null
