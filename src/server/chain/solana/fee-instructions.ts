import { ceilDiv } from '../../../core/ceil-div.ts'
import { PROGRAMS } from './key.ts'
import type { Instruction } from './message.ts'

const SET_COMPUTE_UNIT_LIMIT = 2
const SET_COMPUTE_UNIT_PRICE = 3

/** Compute unit limit. Minting a token uses 36,000 to 41,000 units, and the fee is paid for the whole limit. */
export const COMPUTE_UNIT_LIMIT = 120_000

/**
 * Returns the instructions that set a price per compute unit, so that leaders prefer the transaction. Returns none for
 * a price of 0.
 */
export function feeInstructions(microLamports: bigint): Instruction[] {
  if (microLamports === 0n) return []
  const limit = Buffer.alloc(5)
  limit.writeUInt8(SET_COMPUTE_UNIT_LIMIT, 0)
  limit.writeUInt32LE(COMPUTE_UNIT_LIMIT, 1)
  const price = Buffer.alloc(9)
  price.writeUInt8(SET_COMPUTE_UNIT_PRICE, 0)
  price.writeBigUInt64LE(microLamports, 1)
  return [limit, price].map((data) => ({ program: PROGRAMS.computeBudget, accounts: [], data }))
}

const BASE_FEE_LAMPORTS = 5_000n
const MICRO = 1_000_000n

/** Returns the maximum fee in lamports of a transaction with one signature. */
export const computeMaxFee = (microLamports: bigint): bigint =>
  BASE_FEE_LAMPORTS + ceilDiv(BigInt(COMPUTE_UNIT_LIMIT) * microLamports, MICRO)
