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
  /** It had its effect, or none. */
  status: 'success' | 'reverted'
}

/** What a transaction offers for its gas, in wei. */
export interface Fees {
  maxFeePerGas: bigint
  maxPriorityFeePerGas: bigint
  /** The network knows no base fee: both are the gas price of a transaction as it was before EIP-1559. */
  legacy?: boolean
}

/** An event as a node tells it. */
export interface RawLog {
  address: Hex
  topics: [Hex, ...Hex[]]
  data: Hex
  blockNumber: Hex
  logIndex: Hex
  transactionHash: Hex
}

export interface LogFilter {
  from: number
  to: number
  addresses: readonly string[]
  /** Any of these as the first topic. */
  topics: readonly Hex[]
}

/** What there is to know of a network whose blocks others make: they come late, cost, and may be undone. */
export interface PublicNetwork {
  /** Milliseconds between two looks at what waits. */
  readonly pollMs: number
  /**
   * Blocks after which no reorg is expected any more; `confirmations` or more. A success counts after `confirmations`
   * and is watched until here; a revert, or a nonce that others used up, counts only here.
   */
  readonly finality: number
  /** Milliseconds that a transaction may be the next of its signer before it is signed again with higher fees. */
  readonly stuckMs: number
  /** No transaction offers more for a unit of gas, in wei. */
  readonly feeCap: bigint
  /** Number of the newest block. */
  head(): Promise<number>
  /**
   * The hashes of blocks by their numbers, null for one that the network doesn't have (yet).
   *
   * @param head a block that the node has to have which tells them, else all are null: one that stands still, on a branch
   *   that was given up, would tell of blocks that were undone long ago
   */
  blockHashes(numbers: readonly number[], head?: number): Promise<(Hex | null)[]>
  /**
   * Events, and the hashes of blocks as the node has them that told those: one that is behind, or on another branch,
   * tells nothing wrong unnoticed.
   *
   * @throws RpcError where the node refuses the question: mostly because too much was asked for
   */
  logs(filters: readonly LogFilter[], blocks: readonly number[]): Promise<{ logs: RawLog[]; hashes: (Hex | null)[] }>
  /** How many transactions of an account are in blocks, up to the newest or that one: its next nonce. */
  nextNonce(account: Hex, block?: number): Promise<number>
  /** What an account has to pay with, in wei. */
  balance(account: Hex): Promise<bigint>
  /** Whether a transaction that is none of these used up the nonce, in a block that can't be undone any more. */
  isNonceForeign(used: { signer: Hex; nonce: number; hashes: readonly Hex[] }): Promise<boolean>
  /** What gets a transaction into one of the next blocks, at most `feeCap`. */
  suggestFees(): Promise<Fees>
}

/** One EVM network as the pipeline sees it: an embedded dev chain, or one behind RPC URLs. */
export interface EvmNetwork {
  readonly blockchain: EvmBlockchain
  readonly chainId: number
  /** Blocks on top of a transaction's own (itself included) before it counts as final. */
  readonly confirmations: number
  /** Absent on an embedded chain, where every block is ours and final at once. */
  readonly publicNetwork?: PublicNetwork
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
