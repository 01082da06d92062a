import type { EvmBlockchain } from '../../../api/blockchains.ts'

export type Hex = `0x${string}`

/** The outcome of submitting one signed transaction. `known` covers every response that means "already known". */
export type BroadcastOutcome =
  | { hash: Hex; outcome: 'accepted' | 'known' }
  | { hash: Hex; outcome: 'rejected'; reason: string }

export interface EvmReceipt {
  transactionHash: Hex
  blockNumber: bigint
  blockHash: Hex
  gasUsed: bigint
  /** Fee that it paid in wei, including the fee for its data; null if the node doesn't return the price. */
  feePaid: bigint | null
  /** The part of `feePaid` for its data; 0 on most networks. */
  dataFee?: bigint
  /** Whether it succeeded. */
  status: 'success' | 'reverted'
}

/** The fees that a transaction offers, in wei per gas. */
export interface Fees {
  maxFeePerGas: bigint
  maxPriorityFeePerGas: bigint
  /** The least price that the next block takes, even if it is above the configured maximum. */
  baseFee?: bigint
  /** The network has no base fee: both are the gas price of a transaction before EIP-1559. */
  legacy?: boolean
}

/** An event as a node returns it. */
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
  /** Matches any of these as the first topic. */
  topics: readonly Hex[]
}

/** A public network: its blocks come late, transactions cost money, and blocks may be reverted. */
export interface PublicNetwork {
  /** Milliseconds between two polls of pending transactions. */
  readonly pollMs: number
  /**
   * Number of blocks after which no reorg is expected; `confirmations` or more. A success counts after `confirmations`
   * and is watched until finality. A revert, or a nonce used by another transaction, counts only at finality.
   */
  readonly finality: number
  /** Milliseconds that a transaction may be its signer's next before it is replaced with higher fees. */
  readonly stuckMs: number
  /** Maximum gas price in wei. */
  readonly feeCap: bigint
  /** Maximum number of pending mint transactions of a collection; 1 allows only one that isn't final. */
  readonly mintsInFlight: number
  /** Number of the newest block. */
  head(): Promise<number>
  /**
   * Returns the hashes of blocks by their numbers; null for one that the network doesn't have (yet).
   *
   * @param head a block that the responding node must have, else all are null: a lagging node on an abandoned branch
   * would return blocks that were reverted long ago
   */
  blockHashes(numbers: readonly number[], head?: number): Promise<(Hex | null)[]>
  /**
   * Returns events, and the hashes of blocks from the same node, so that a node that lags or is on another branch is
   * detected.
   *
   * @throws RpcError if the node rejects the query, mostly because its range is too large
   */
  logs(filters: readonly LogFilter[], blocks: readonly number[]): Promise<{ logs: RawLog[]; hashes: (Hex | null)[] }>
  /** Returns the number of an account's transactions in blocks, up to the newest or that one: its next nonce. */
  nextNonce(account: Hex, block?: number): Promise<number>
  /** Returns the balance of an account, in wei. */
  balance(account: Hex): Promise<bigint>
  /** Whether a transaction other than these used the nonce, in a final block. */
  isNonceForeign(used: { signer: Hex; nonce: number; hashes: readonly Hex[] }): Promise<boolean>
  /** Returns fees that get a transaction into one of the next blocks, at most `feeCap`. */
  suggestFees(): Promise<Fees>
}

/** One EVM network for the pipeline: an embedded dev chain, or one behind RPC URLs. */
export interface EvmNetwork {
  readonly blockchain: EvmBlockchain
  readonly chainId: number
  /** Number of blocks, the transaction's own included, before it counts as final. */
  readonly confirmations: number
  /** Absent on an embedded chain, where every block is final at once. */
  readonly publicNetwork?: PublicNetwork
  /** Calls any standard JSON-RPC method. Rejects with the node's message, or if the node is unreachable. */
  request<Result>(method: string, params: readonly unknown[]): Promise<Result>
  /**
   * Submits signed transactions in order and returns one outcome each. Submitting the same bytes twice has no effect.
   * On the embedded chain it resolves once they are in a block that survives any crash.
   */
  broadcast(raws: readonly Hex[]): Promise<BroadcastOutcome[]>
  /** Returns the receipt of each hash; null if it isn't in a block. */
  receipts(hashes: readonly Hex[]): Promise<(EvmReceipt | null)[]>
}
