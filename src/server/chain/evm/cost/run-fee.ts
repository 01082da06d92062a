import { inCoins, inGwei } from '../../../../core/units.ts'
import type { CurrentFees } from '../../fees.ts'
import type { Fees } from '../network.ts'

/** Fees by which a run with a limit waits. */
type Current = Pick<CurrentFees, 'base'>

/**
 * Returns the price that the next two blocks take for certain: a block raises the base fee by an eighth at most. A
 * transaction signed below this price would hold a nonce, and with it all later transactions of the signer.
 */
const neededNow = ({ base }: Current): bigint => (base * 9n) / 8n

/** Whether a run waits for cheaper blocks. */
export const isTooExpensive = (maxFee: string | null, current: Current): boolean =>
  maxFee !== null && neededNow(current) > BigInt(maxFee)

/** Returns why nothing is signed for a run with a limit of its fees; null if fees don't prevent it. */
export const waitingForFees = (maxFee: string | null, current: Current): string | null =>
  maxFee === null || !isTooExpensive(maxFee, current)
    ? null
    : `${LOWER_FEES}the next blocks need up to ${inGwei(neededNow(current))} gwei, but the run offers at most ${inGwei(BigInt(maxFee))} gwei${RAISE} --max-fee-gwei ${inGwei(sufficientFee(current.base), 'up')} or more to raise the limit`

/** Returns a maximum fee with which a run is signed for, even if the next two blocks raise the base fee. */
export const sufficientFee = (base: bigint): bigint => (base * 3n) / 2n + 1n

const RAISE = "; repeat the run's command with"

/** Reasons of a limited run that begin with it are resolved by lower fees, and not by funds. */
const LOWER_FEES = 'waiting for lower fees: '

/** Whether a reason to wait is that fees are too high for the limit of a run. */
export const waitsForLowerFees = (reason: string): boolean => reason.startsWith(LOWER_FEES)

/**
 * Returns why a run waits whose cost limit is too low for the current fees.
 *
 * @param least the lowest gas price that blocks accept
 * @param most the highest gas price that the limit pays for
 * @param enough the limit that pays for everything that was accepted
 */
export const waitingForLimit = (least: bigint, most: bigint, enough: bigint): string =>
  `${LOWER_FEES}blocks require at least ${inGwei(least)} gwei, but the rest of the run's cost limit pays for only ${inGwei(most)} gwei${RAISE} --max-cost ${inCoins(enough, 'up')} or more to raise the limit`

/** Returns fees that are no higher than the limit of a run. */
export function limitFees<Limited extends Fees>(fees: Limited, maxFee: string | null): Limited {
  if (maxFee === null) return fees
  const { maxFeePerGas, maxPriorityFeePerGas } = fees
  return {
    ...fees,
    maxFeePerGas: limitFee(maxFeePerGas, maxFee),
    maxPriorityFeePerGas: limitFee(maxPriorityFeePerGas, maxFee),
  }
}

/** Returns a fee that is no higher than the limit of a run. */
export const limitFee = (fee: bigint, maxFee: string | null): bigint =>
  maxFee !== null && fee > BigInt(maxFee) ? BigInt(maxFee) : fee
