import type { EvmReceipt, Hex } from './network.ts'
import { readQuantity } from './quantity.ts'

/** A receipt as the node returns it; null if the transaction isn't in a block. */
export function receiptOf(raw: unknown): EvmReceipt | null {
  if (raw === null) return null
  const receipt = raw as Record<'transactionHash' | 'blockNumber' | 'blockHash' | 'gasUsed' | 'status', Hex>
  // Some nodes return a receipt for transactions that are still in their pool.
  if (receipt.blockHash === null || receipt.blockNumber === null) return null
  return {
    transactionHash: receipt.transactionHash,
    blockNumber: readQuantity(receipt.blockNumber),
    blockHash: receipt.blockHash,
    gasUsed: readQuantity(receipt.gasUsed),
    status: receipt.status === '0x1' ? 'success' : 'reverted',
  }
}
