import { address, type Instruction } from '@solana/kit'

const COMPUTE_BUDGET = address('ComputeBudget111111111111111111111111111111')
const SET_LIMIT = 2
const SET_PRICE = 3

/** Making a token takes 36,000 to 41,000 of these; what is offered for one is paid for as many. */
export const COMPUTE_UNITS = 120_000

/** What offers a price for each compute unit, so that leaders prefer the transaction; nothing for a price of 0. */
export function feeInstructions(microLamports: bigint): Instruction[] {
  if (microLamports === 0n) return []
  const limit = Buffer.alloc(5)
  limit.writeUInt8(SET_LIMIT, 0)
  limit.writeUInt32LE(COMPUTE_UNITS, 1)
  const price = Buffer.alloc(9)
  price.writeUInt8(SET_PRICE, 0)
  price.writeBigUInt64LE(microLamports, 1)
  return [limit, price].map((data) => ({ programAddress: COMPUTE_BUDGET, data: Uint8Array.from(data) }))
}

const BASE_FEE = 5_000n
const MICRO = 1_000_000n

/** Lamports that a transaction of one signature costs at most, whatever it does. */
export const feeOf = (microLamports: bigint): bigint =>
  BASE_FEE + (BigInt(COMPUTE_UNITS) * microLamports + MICRO - 1n) / MICRO
