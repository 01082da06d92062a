import { parseTransaction } from 'viem'
import type { Hex } from '../network.ts'

/** A pending transaction, as far as its signer must have funds for it. */
export interface PendingCall {
  nonce: number
  /** The most that it can cost without the fee for its data, in wei; that of its replacement if it will get one. */
  cost: bigint
  /** Whether fees have risen above its own: it is replaced, or the limit of its run holds it. */
  state: 'offered' | 'raised' | 'held'
}

/** The funds that a signer needs for its pending transactions. */
export interface Debt {
  /** The maximum cost in wei of the next one, and of all. */
  due: bigint
  owed: bigint
  /** Transactions that are replaced at higher fees, and transactions that the limits of their runs hold. */
  raised: number
  held: number
}

/** Returns a pending transaction at the fees with which it was signed. */
export function callOf(raw: Hex): PendingCall {
  const { nonce = 0, gas = 0n, value = 0n, gasPrice, maxFeePerGas } = parseTransaction(raw)
  return { nonce, cost: gas * (maxFeePerGas ?? gasPrice ?? 0n) + value, state: 'offered' }
}

/** Returns the funds that a signer must have for its pending transactions, in the order of their nonces. */
export function debtOf(calls: readonly PendingCall[], nextNonce: number): Debt {
  const waiting = calls.filter(({ nonce }) => nonce >= nextNonce)
  return {
    due: waiting[0]?.cost ?? 0n,
    owed: waiting.reduce((sum, { cost }) => sum + cost, 0n),
    raised: waiting.filter(({ state }) => state === 'raised').length,
    held: waiting.filter(({ state }) => state === 'held').length,
  }
}
