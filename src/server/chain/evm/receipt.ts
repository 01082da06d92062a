import { type EvmReceipt, type Hex, parseQuantity } from './network.ts'

interface Prices {
  effectiveGasPrice?: Hex | null
  /** The data fee on OP Stack networks and Scroll; absent on other networks. */
  l1Fee?: Hex | null
}

/** Returns a receipt from a node's response; null if the transaction isn't in a block. */
export function parseReceipt(raw: unknown): EvmReceipt | null {
  if (raw === null) return null
  const receipt = raw as Record<'transactionHash' | 'blockNumber' | 'blockHash' | 'gasUsed' | 'status', Hex> & Prices
  // Some nodes return a receipt for transactions that are still in their pool.
  if (receipt.blockHash === null || receipt.blockNumber === null) return null
  return {
    transactionHash: receipt.transactionHash,
    blockNumber: parseQuantity(receipt.blockNumber),
    blockHash: receipt.blockHash,
    gasUsed: parseQuantity(receipt.gasUsed),
    feePaid: computeFeePaid(receipt),
    dataFee: parseDataFee(receipt),
    status: receipt.status === '0x1' ? 'success' : 'reverted',
  }
}

function computeFeePaid({ gasUsed, effectiveGasPrice, ...prices }: Record<'gasUsed', Hex> & Prices): bigint | null {
  if (effectiveGasPrice === undefined || effectiveGasPrice === null) return null
  return parseQuantity(gasUsed) * parseQuantity(effectiveGasPrice) + parseDataFee(prices)
}

const parseDataFee = ({ l1Fee }: Prices): bigint => (l1Fee === undefined || l1Fee === null ? 0n : parseQuantity(l1Fee))
