import { parseTransaction } from 'viem'
import type { Hex } from '../network.ts'

interface Priced {
  gas?: bigint | undefined
  value?: bigint | undefined
  gasPrice?: bigint | undefined
  maxFeePerGas?: bigint | undefined
}

/** The maximum cost of pending transactions, in wei: of the next one, and of all. */
export function debtOf(raws: readonly Hex[], nextNonce: number): { due: bigint; owed: bigint } {
  const waiting = raws.map((raw) => parseTransaction(raw)).filter(({ nonce = 0 }) => nonce >= nextNonce)
  const costs = waiting.map(highestCost)
  return { due: costs[0] ?? 0n, owed: costs.reduce((sum, cost) => sum + cost, 0n) }
}

/** The balance that a node requires from the sender. */
function highestCost({ gas = 0n, value = 0n, gasPrice, maxFeePerGas }: Priced): bigint {
  return gas * (maxFeePerGas ?? gasPrice ?? 0n) + value
}
