import { parseTransaction } from 'viem'
import type { Hex } from '../network.ts'

/** A pending transaction, with the values from which its signer's required funds are computed. */
export interface PendingCall {
  nonce: number
  /**
   * Maximum cost in wei without the data fee. For a transaction that will be replaced, this is the cost of the
   * replacement.
   */
  cost: bigint
  /**
   * Whether the transaction's fees are high enough. `offered`: they are high enough. `raised`: the network's fees are
   * higher, and the transaction will be replaced. `held`: the network's fees are higher, but the limit of the run
   * prevents a replacement.
   */
  state: 'offered' | 'raised' | 'held'
}

/** The funds that a signer needs for its pending transactions. */
export interface Debt {
  /** Maximum cost in wei of the next transaction (`due`) and of all transactions (`owed`). */
  due: bigint
  owed: bigint
  /** Number of transactions that will be replaced with higher fees. */
  raised: number
  /** Number of transactions that aren't replaced, because of the limits of their runs. */
  held: number
}

/** Parses a signed transaction. Computes the cost from the fees that the transaction offers. */
export function parsePendingCall(raw: Hex): PendingCall {
  const { nonce = 0, gas = 0n, value = 0n, gasPrice, maxFeePerGas } = parseTransaction(raw)
  return { nonce, cost: gas * (maxFeePerGas ?? gasPrice ?? 0n) + value, state: 'offered' }
}

/** Returns the funds that a signer needs for its pending transactions. `calls` must be sorted by nonce. */
export function computeDebt(calls: readonly PendingCall[], nextNonce: number): Debt {
  const waiting = calls.filter(({ nonce }) => nonce >= nextNonce)
  return {
    due: waiting[0]?.cost ?? 0n,
    owed: waiting.reduce((sum, { cost }) => sum + cost, 0n),
    raised: waiting.filter(({ state }) => state === 'raised').length,
    held: waiting.filter(({ state }) => state === 'held').length,
  }
}
