import { type EvmReceipt, type Hex, readQuantity } from './network.ts'

interface Prices {
  effectiveGasPrice?: Hex | null
  /** The data fee on OP Stack networks and Scroll; absent on other networks. */
  l1Fee?: Hex | null
}

/** Returns a receipt from a node's response; null if the transaction isn't in a block. */
export function receiptOf(raw: unknown): EvmReceipt | null {
  if (raw === null) return null
  const receipt = raw as Record<'transactionHash' | 'blockNumber' | 'blockHash' | 'gasUsed' | 'status', Hex> & Prices
  // Some nodes return a receipt for transactions that are still in their pool.
  if (receipt.blockHash === null || receipt.blockNumber === null) return null
  return {
    transactionHash: receipt.transactionHash,
    blockNumber: readQuantity(receipt.blockNumber),
    blockHash: receipt.blockHash,
    gasUsed: readQuantity(receipt.gasUsed),
    feePaid: feePaid(receipt),
    dataFee: dataFee(receipt),
    status: receipt.status === '0x1' ? 'success' : 'reverted',
  }
}

function feePaid({ gasUsed, effectiveGasPrice, ...prices }: Record<'gasUsed', Hex> & Prices): bigint | null {
  if (effectiveGasPrice === undefined || effectiveGasPrice === null) return null
  return readQuantity(gasUsed) * readQuantity(effectiveGasPrice) + dataFee(prices)
}

const dataFee = ({ l1Fee }: Prices): bigint => (l1Fee === undefined || l1Fee === null ? 0n : readQuantity(l1Fee))
