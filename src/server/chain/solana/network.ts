import type { SolanaBlockchain } from '../../../api/blockchains.ts'

/** The outcome of submitting one signed transaction. `known` covers every response that means "already known". */
export type SendOutcome = { outcome: 'accepted' | 'known' } | { outcome: 'rejected'; reason: string }

/** The result of a transaction, returned only once it is final. */
export interface SignatureStatus {
  slot: number
  /** The error; null on success. A failed transaction has changed nothing, but its fee was paid. */
  error: string | null
  /** Whether the payer's balance was too low. If so, the transaction may succeed later. */
  unpaid?: boolean
}

export interface SolanaAccount {
  /** The program that owns the account. */
  owner: string
  lamports: bigint
  data: Uint8Array
}

/** A recent blockhash, and the last block height at which a transaction signed with it can be executed. */
export interface BlockhashLifetime {
  blockhash: string
  lastValidBlockHeight: number
}

/** A Solana network for the pipeline: an embedded chain, or a cluster behind RPC URLs. */
export interface SolanaNetwork {
  readonly blockchain: SolanaBlockchain
  /**
   * Milliseconds between two polls of pending transactions. Absent on an embedded chain, whose outcomes are immediate.
   */
  readonly pollMs?: number
  latestBlockhash(): Promise<BlockhashLifetime>
  /**
   * Returns the height of the newest final block. Read the height before `statuses` and `account`. If the last valid
   * height of a transaction has passed and neither of them shows the transaction, it can never be executed.
   */
  blockHeight(): Promise<number>
  /**
   * Returns the price in micro-lamports for a compute unit. Without this method, or for a price of 0, transactions pay
   * only the base fee.
   *
   * @param options.urgent whether an earlier transaction for the same purpose had no effect
   */
  computeUnitPrice?(options: { urgent: boolean }): Promise<bigint>
  /** Returns the minimum balance in lamports of an account with this many bytes. */
  minimumBalance(bytes: number): Promise<bigint>
  /**
   * Submits signed transactions (base64), and returns one outcome for each. Submitting the same bytes twice has no
   * effect. On an embedded chain, resolves when the transactions are in a block that survives any crash.
   */
  send(raws: readonly string[]): Promise<SendOutcome[]>
  /**
   * Returns the final status of each signature. Null means that the transaction isn't final yet, is unknown, or is too
   * old.
   */
  statuses(signatures: readonly string[]): Promise<(SignatureStatus | null)[]>
  /** Returns an account as of the newest final block; null if it doesn't exist. */
  account(address: string): Promise<SolanaAccount | null>
  /**
   * Returns whether each address has a mint as of the newest final block. An account with only a balance doesn't count.
   */
  mintsExist(addresses: readonly string[]): Promise<boolean[]>
  /**
   * Returns the supply of each mint as of the newest final block, or null if the mint doesn't exist. Absent on an
   * embedded chain, to which only this service submits transactions.
   */
  supplies?(addresses: readonly string[]): Promise<(bigint | null)[]>
  /**
   * Returns the signature of the transaction that created an account; null if no node has it. Absent on an embedded
   * chain.
   */
  findCreationSignature?(address: string): Promise<string | null>
}
