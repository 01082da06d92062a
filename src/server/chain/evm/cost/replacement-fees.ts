import type { AttemptRow } from '../../../store/attempts.ts'
import type { Fees, Hex } from '../network.ts'

/** Maximum multiple of the network's usual fees for automatic increases. */
const FAR_ABOVE = 4n

/** The values that determine the fees of a replacement. Fees are in wei per gas. */
export interface FeeTerms {
  /** The highest fees that the transaction has offered. */
  before: Fees
  /** The fees that the network suggests, at most the limit of the run. */
  suggested: Fees
  /** The limit of the run; null if it has none, or if it doesn't apply. */
  runLimit: bigint | null
  /** The most that the caller of the bumper allows. Default: no limit. */
  maxFee?: bigint | undefined
  /** `max_fee_gwei` of the network. */
  cap: bigint
  /** Whether an operator requested the replacement, so that fees far above the usual fees are allowed. */
  isRequested: boolean
}

/** Why no fees replace a transaction. */
export type FeeLimit = 'run_limit' | 'max_fee' | 'cap' | 'far_above'

/** Returns the fees that replace a transaction, or the limit that prevents them. */
export function chooseFees({ before, suggested, runLimit, maxFee, cap, isRequested }: FeeTerms): Fees | FeeLimit {
  const fees = raiseFees(before, suggested)
  const { maxFeePerGas: offered } = fees
  if (runLimit !== null && offered > runLimit) return 'run_limit'
  if (maxFee !== undefined && offered > maxFee) return 'max_fee'
  if (offered > cap) return 'cap'
  // Stops a transaction that is stuck for another reason, such as a halted network, before it reaches the cap.
  if (!isRequested && offered > FAR_ABOVE * suggested.maxFeePerGas) return 'far_above'
  return fees
}

/**
 * Returns fees that replace a transaction: nodes require an increase of both by an eighth, or more if the network's
 * fees are higher.
 */
export function raiseFees(before: Fees, suggested: Fees): Fees {
  const raise = (fee: bigint, suggestion: bigint) => {
    const least = (fee * 9n + 7n) / 8n
    return suggestion > least ? suggestion : least
  }
  return {
    maxFeePerGas: raise(before.maxFeePerGas, suggested.maxFeePerGas),
    maxPriorityFeePerGas: raise(before.maxPriorityFeePerGas, suggested.maxPriorityFeePerGas),
    ...(before.legacy ? { legacy: true } : {}),
  }
}

/**
 * Returns the suggested fees, lowered as far as the next block allows if only a lower maximum price can be paid for. A
 * gas price can't be lowered: it is what blocks take already.
 */
export function lowerFees(suggested: Fees, payable: bigint): Fees {
  const { maxFeePerGas, maxPriorityFeePerGas: tip, baseFee, legacy } = suggested
  if (legacy || baseFee === undefined || payable >= maxFeePerGas) return suggested
  const least = baseFee + tip
  return { ...suggested, maxFeePerGas: payable > least ? payable : least }
}

/** Whether no block includes a transaction with these fees. The suggested fee is twice the base fee, plus the tip. */
export const isTooLow = (fees: Fees, suggested: Fees): boolean =>
  2n * fees.maxFeePerGas < suggested.maxFeePerGas || fees.maxPriorityFeePerGas < suggested.maxPriorityFeePerGas

/** Returns a call that uses a nonce without an effect: it sends nothing to the signer itself. */
export const emptyCall = (signer: Hex) => ({ to: signer, data: '0x' as Hex, gas: 21_000n })

/** Returns the highest fees of all signings, which are the fees of the last signing. */
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
export function feesOf({ type, gasPrice = 0n, maxFeePerGas = 0n, maxPriorityFeePerGas = 0n }: ParsedFees): Fees {
  if (type !== 'legacy') return { maxFeePerGas, maxPriorityFeePerGas }
  return { maxFeePerGas: gasPrice, maxPriorityFeePerGas: gasPrice, legacy: true }
}

interface ParsedFees {
  type?: string | undefined
  gasPrice?: bigint | undefined
  maxFeePerGas?: bigint | undefined
  maxPriorityFeePerGas?: bigint | undefined
}
