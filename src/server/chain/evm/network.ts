import type { EvmBlockchain } from '../../../api/blockchains.ts'
import { GdnError } from '../../../core/errors.ts'

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
  /** The fee that the transaction paid in wei, including the data fee. Null if the node doesn't return the price. */
  feePaid: bigint | null
  /** The part of `feePaid` that pays for data; 0 on most networks. */
  dataFee?: bigint
  status: 'success' | 'reverted'
}

/** The fees that a transaction offers, in wei per gas. */
export interface Fees {
  maxFeePerGas: bigint
  maxPriorityFeePerGas: bigint
  /** The lowest gas price that the next block accepts, even if it is above the configured maximum. */
  baseFee?: bigint
  /**
   * Whether the network has no base fee. In that case, both fees are the gas price of a transaction before EIP-1559.
   */
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
  /** The accepted values of the first topic. */
  topics: readonly Hex[]
}

/** A public network. Blocks take time, transactions cost money, and blocks may be reverted. */
export interface PublicNetwork {
  /** Milliseconds between two polls of pending transactions. */
  readonly pollMs: number
  /**
   * Number of blocks after which no reorg is expected; at least `confirmations`. A successful transaction counts as
   * confirmed after `confirmations`, and is checked for reorgs until finality. A revert, or another transaction with
   * the same nonce, counts only at finality.
   */
  readonly finality: number
  /**
   * Time in milliseconds after which a pending transaction with its signer's next nonce is replaced with higher fees.
   */
  readonly stuckMs: number
  /** Maximum gas price in wei. */
  readonly feeCap: bigint
  /**
   * Maximum number of pending mint transactions per collection. With 1, the next transaction waits until the previous
   * one is final.
   */
  readonly mintsInFlight: number
  /** Returns the number of the newest block. */
  head(): Promise<number>
  /**
   * Returns the hashes of blocks by number. Null for a block that the network doesn't have (yet).
   *
   * @param head a block that the responding node must have, or else all hashes are null. A lagging node on an abandoned
   * branch would otherwise return blocks that were reverted long ago
   */
  blockHashes(numbers: readonly number[], head?: number): Promise<(Hex | null)[]>
  /**
   * Returns events together with block hashes from the same node, so that a node that lags or is on another branch is
   * detected.
   *
   * @throws RpcError if the node rejects the query, usually because its range is too large
   */
  logs(filters: readonly LogFilter[], blocks: readonly number[]): Promise<{ logs: RawLog[]; hashes: (Hex | null)[] }>
  /** Returns the next nonce of an account as of a block. Default: the newest block. */
  nextNonce(account: Hex, block?: number): Promise<number>
  /** Returns the balance of an account, in wei. */
  balance(account: Hex): Promise<bigint>
  /** Returns whether a nonce was used in a final block by a transaction other than these. */
  isNonceForeign(used: { signer: Hex; nonce: number; hashes: readonly Hex[] }): Promise<boolean>
  /** Returns fees that are high enough for one of the next blocks, but not above `feeCap`. */
  suggestFees(): Promise<Fees>
}

/** An EVM network for the pipeline: an embedded chain, or a network with RPC URLs. */
export interface EvmNetwork {
  readonly blockchain: EvmBlockchain
  readonly chainId: number
  /**
   * Number of blocks, including the transaction's own block, after which a successful transaction counts as confirmed.
   */
  readonly confirmations: number
  /** The functions of a public network. Absent for an embedded chain, where every block is final immediately. */
  readonly publicNetwork?: PublicNetwork
  /** Calls any standard JSON-RPC method. Rejects with the node's error, or if the network is unreachable. */
  request<Result>(method: string, params: readonly unknown[]): Promise<Result>
  /**
   * Submits signed transactions in order and returns one outcome for each. Submitting the same bytes twice has no
   * effect. On an embedded chain, resolves when the transactions are in a block that survives any crash.
   */
  broadcast(raws: readonly Hex[]): Promise<BroadcastOutcome[]>
  /** Returns the receipt of each hash; null if the transaction isn't in a block. */
  receipts(hashes: readonly Hex[]): Promise<(EvmReceipt | null)[]>
}

/** Matches a hex number of at most 256 bits, like all numbers on chain. */
const QUANTITY = /^0x[0-9a-fA-F]{1,64}$/

/**
 * Parses a JSON-RPC quantity in hex. Rejects other forms, because BigInt would take a minute to parse a decimal of
 * several megabytes, and would block the event loop.
 *
 * @throws GdnError `unreachable`
 */
export function parseQuantity(value: unknown): bigint {
  if (typeof value === 'string' && QUANTITY.test(value)) return BigInt(value)
  throw new GdnError('unreachable', 'a node returned an invalid number', {
    hint: 'Try again, or configure another RPC URL.',
  })
}
