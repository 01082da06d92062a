import { formatCoins, formatGwei } from '../../../../core/units.ts'
import type { CurrentFees } from '../../fees.ts'
import type { Fees } from '../network.ts'

/** The current fees that determine whether a run with a limit must wait. */
type Current = Pick<CurrentFees, 'base'>

/**
 * Returns a gas price that is sufficient for the next two blocks, because a block raises the base fee by at most an
 * eighth. A transaction signed below this price would block its nonce and all later transactions of the signer.
 */
const computeSafeGasPrice = ({ base }: Current): bigint => (base * 9n) / 8n

/** Returns whether a run must wait for lower fees. */
export const isTooExpensive = (maxFee: string | null, current: Current): boolean =>
  maxFee !== null && computeSafeGasPrice(current) > BigInt(maxFee)

/** Returns why nothing is signed for a run with a fee limit; null if fees don't prevent signing. */
export const explainFeeWait = (maxFee: string | null, current: Current): string | null =>
  maxFee === null || !isTooExpensive(maxFee, current)
    ? null
    : `${LOWER_FEES_PREFIX}the next blocks need up to ${formatGwei(computeSafeGasPrice(current))} gwei, but the run offers at most ${formatGwei(BigInt(maxFee))} gwei${RAISE_HINT} --max-fee-gwei ${formatGwei(sufficientFee(current.base), 'up')} or more to raise the limit`

/** Returns a maximum fee that is high enough for signing even if the next two blocks raise the base fee. */
export const sufficientFee = (base: bigint): bigint => (base * 3n) / 2n + 1n

const RAISE_HINT = "; repeat the run's command with"

/** Prefix of the reason why a run with a limit waits for lower fees. Additional funds would not help such a run. */
const LOWER_FEES_PREFIX = 'waiting for lower fees: '

/** Returns whether a run is waiting because fees are too high for its limit. */
export const waitsForLowerFees = (reason: string): boolean => reason.startsWith(LOWER_FEES_PREFIX)

/**
 * Returns the reason to show for a run that waits because its cost limit is too low for the current fees.
 *
 * @param minFee the lowest gas price that blocks accept
 * @param payableFee the highest gas price that the limit can pay
 * @param sufficientLimit the cost limit that would pay for all accepted requests
 */
export const explainLimitWait = (minFee: bigint, payableFee: bigint, sufficientLimit: bigint): string =>
  `${LOWER_FEES_PREFIX}blocks require at least ${formatGwei(minFee)} gwei, but the run's remaining cost limit covers only ${formatGwei(payableFee)} gwei${RAISE_HINT} --max-cost ${formatCoins(sufficientLimit, 'up')} or more to raise the limit`

/** Returns fees capped by the fee limit of a run. */
export function limitFees<Limited extends Fees>(fees: Limited, maxFee: string | null): Limited {
  if (maxFee === null) return fees
  const { maxFeePerGas, maxPriorityFeePerGas } = fees
  return {
    ...fees,
    maxFeePerGas: limitFee(maxFeePerGas, maxFee),
    maxPriorityFeePerGas: limitFee(maxPriorityFeePerGas, maxFee),
  }
}

/** Returns a fee capped by the fee limit of a run. */
export const limitFee = (fee: bigint, maxFee: string | null): bigint =>
  maxFee !== null && fee > BigInt(maxFee) ? BigInt(maxFee) : fee
