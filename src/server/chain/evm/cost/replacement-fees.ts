import type { AttemptRow } from '../../../store/attempts.ts'
import type { Fees, Hex } from '../network.ts'

/** Maximum multiple of the network's usual fees that an automatic replacement may offer. */
const MAX_FEE_FACTOR = 4n

/** The values that determine the fees of a replacement. Fees are in wei per gas. */
export interface FeeTerms {
  /** The highest fees that the transaction has offered. */
  before: Fees
  /** The fees that the network suggests, capped by the fee limit of the run. */
  suggested: Fees
  /** The fee limit of the run; null if the run has no limit, or if its limit doesn't apply. */
  runLimit: bigint | null
  /** The maximum fee that the caller allows. Default: no limit. */
  maxFee?: bigint | undefined
  /** The network's `max_fee_gwei`, converted to wei. */
  cap: bigint
  /** Whether an operator requested the replacement. If so, fees far above the usual fees are allowed. */
  isRequested: boolean
}

/** The limit that prevents a replacement. */
export type FeeLimit = 'run_limit' | 'max_fee' | 'cap' | 'far_above'

/** Returns the fees for replacing a transaction, or the limit that prevents it. */
export function chooseFees({ before, suggested, runLimit, maxFee, cap, isRequested }: FeeTerms): Fees | FeeLimit {
  const fees = raiseFees(before, suggested)
  const { maxFeePerGas: offered } = fees
  if (runLimit !== null && offered > runLimit) return 'run_limit'
  if (maxFee !== undefined && offered > maxFee) return 'max_fee'
  if (offered > cap) return 'cap'
  // A transaction may be stuck for another reason, such as a halted network. In this case, don't raise its fees up to
  // the cap.
  if (!isRequested && offered > MAX_FEE_FACTOR * suggested.maxFeePerGas) return 'far_above'
  return fees
}

/**
 * Returns the fees for replacing a transaction. Nodes require an increase of both fees. Raises each fee by an eighth,
 * or to the suggested fee if that is higher.
 */
export function raiseFees(before: Fees, suggested: Fees): Fees {
  const raise = (fee: bigint, suggestion: bigint) => {
    const minimum = (fee * 9n + 7n) / 8n
    return suggestion > minimum ? suggestion : minimum
  }
  return {
    maxFeePerGas: raise(before.maxFeePerGas, suggested.maxFeePerGas),
    maxPriorityFeePerGas: raise(before.maxPriorityFeePerGas, suggested.maxPriorityFeePerGas),
    ...(before.legacy ? { legacy: true } : {}),
  }
}

/**
 * Returns the suggested fees. If they exceed `payable`, lowers the maximum price to `payable`, or to the lowest price
 * that the next block accepts if that is higher. A legacy gas price can't be lowered, because it is already the price
 * that blocks accept.
 */
export function lowerFees(suggested: Fees, payable: bigint): Fees {
  const { maxFeePerGas, maxPriorityFeePerGas: tip, baseFee, legacy } = suggested
  if (legacy || baseFee === undefined || payable >= maxFeePerGas) return suggested
  const minFee = baseFee + tip
  return { ...suggested, maxFeePerGas: payable > minFee ? payable : minFee }
}

/**
 * Returns whether the fees are so low that no block includes the transaction. The suggested maximum fee is twice the
 * base fee plus the tip.
 */
export const isTooLow = (fees: Fees, suggested: Fees): boolean =>
  2n * fees.maxFeePerGas < suggested.maxFeePerGas || fees.maxPriorityFeePerGas < suggested.maxPriorityFeePerGas

/** Returns a call that uses a nonce without any effect: a transfer of 0 to the signer itself. */
export const emptyCall = (signer: Hex) => ({ to: signer, data: '0x' as Hex, gas: 21_000n })

/** Returns the highest fees with which a transaction was signed, which are the fees of its last signed version. */
export function highestFees(original: Fees, attempts: readonly AttemptRow[]): Fees {
  const last = attempts.at(-1)
  if (last === undefined) return original
  return {
    ...original,
    maxFeePerGas: BigInt(last.max_fee_per_gas),
    maxPriorityFeePerGas: BigInt(last.max_priority_fee_per_gas),
  }
}

/** Returns the fees that a parsed transaction offers. */
export function offeredFees({ type, gasPrice = 0n, maxFeePerGas = 0n, maxPriorityFeePerGas = 0n }: ParsedFees): Fees {
  if (type !== 'legacy') return { maxFeePerGas, maxPriorityFeePerGas }
  return { maxFeePerGas: gasPrice, maxPriorityFeePerGas: gasPrice, legacy: true }
}

interface ParsedFees {
  type?: string | undefined
  gasPrice?: bigint | undefined
  maxFeePerGas?: bigint | undefined
  maxPriorityFeePerGas?: bigint | undefined
}
