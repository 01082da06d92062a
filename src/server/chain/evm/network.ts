import type { EvmBlockchain } from '../../../api/blockchains.ts'

export type Hex = `0x${string}`

/** What became of the hand-in of one signed transaction. `known` covers every answer that says "I have it already". */
export type BroadcastOutcome =
  | { hash: Hex; outcome: 'accepted' | 'known' }
  | { hash: Hex; outcome: 'rejected'; reason: string }

export interface EvmReceipt {
  transactionHash: Hex
  blockNumber: bigint
  blockHash: Hex
  gasUsed: bigint
  status: 'success' | 'reverted'
}

/** One EVM network as the pipeline sees it: an embedded dev chain or, later, one behind RPC URLs. */
export interface EvmNetwork {
  readonly blockchain: EvmBlockchain
  readonly chainId: number
  /** Blocks on top of a transaction's own (itself included) before it counts as final. */
  readonly confirmations: number
  /** Any standard JSON-RPC method. Rejects with the node's message, or when the node can't be reached. */
  request<Result>(method: string, params: readonly unknown[]): Promise<Result>
  /**
   * Hands in signed transactions, in order, one outcome each. Handing in the same bytes twice is harmless.
   * On the embedded chain it resolves once they are in a block that survives any kill.
   */
  broadcast(raws: readonly Hex[]): Promise<BroadcastOutcome[]>
  /** The receipt of each hash, null where it isn't in a block. */
  receipts(hashes: readonly Hex[]): Promise<(EvmReceipt | null)[]>
}
