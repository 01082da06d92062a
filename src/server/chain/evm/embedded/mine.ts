import type { Hex } from '../network.ts'
import { type NodeRpc, nodeUnreachableError } from './node-rpc.ts'

/** The last block of a node, and the number of transactions that remain in its pool. */
export interface Tip {
  number: number
  /** Timestamp of the block in Unix seconds. */
  timestamp: number
  hash: Hex
  /**
   * Number of transactions that remain in the pool, because they didn't fit into the block or wait for an earlier
   * nonce.
   */
  waitingCount: number
}

interface BlockHeader {
  number: Hex
  hash: Hex
  parentHash: Hex
  timestamp: Hex
  transactions: readonly Hex[]
}

export interface MinedBlock {
  hash: Hex
  transactions: readonly Hex[]
}

/**
 * Mines the pool's transactions into the block after `tip`.
 *
 * @throws GdnError `unreachable` if the node mined a block other than the next one, which means that another program
 *   mined a block
 */
export async function mineBlock(rpc: NodeRpc, tip: Tip, timestamp: number): Promise<MinedBlock> {
  await rpc.call('evm_mine', [timestamp])
  const header = await rpc.call<BlockHeader>('eth_getBlockByNumber', ['latest', false])
  const next = Number(header.number) === tip.number + 1 && header.parentHash === tip.hash
  if (!next || Number(header.timestamp) !== timestamp) {
    throw nodeUnreachableError(`was changed by another program: gdn did not mine block ${Number(header.number)}`)
  }
  return { hash: header.hash, transactions: header.transactions }
}

/**
 * Returns how many transactions in the pool are ready for the next block (`pending`), and how many wait for an earlier
 * nonce (`queued`).
 */
export async function poolStatus(rpc: NodeRpc): Promise<{ pending: number; queued: number }> {
  const status = await rpc.call<{ pending: Hex; queued: Hex }>('txpool_status')
  return { pending: Number(status.pending), queued: Number(status.queued) }
}
