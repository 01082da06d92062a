import type { SolanaBlockchain } from '../../../api/blockchains.ts'

/** What became of the hand-in of one signed transaction. `known` covers every answer that says "I have it already". */
export type SendOutcome = { outcome: 'accepted' | 'known' } | { outcome: 'rejected'; reason: string }

/** Where a transaction ended up, told only once that is final. */
export interface SignatureStatus {
  slot: number
  /** Null when it succeeded; a failed one has changed nothing but its fee. */
  error: string | null
  /** It failed because who pays for it hadn't enough: later it may succeed. */
  unpaid?: boolean
}

export interface SolanaAccount {
  /** The program that owns it. */
  owner: string
  lamports: bigint
  data: Uint8Array
}

/** A recent blockhash, and the last block height at which a transaction signed with it can still be executed. */
export interface Lifetime {
  blockhash: string
  lastValidBlockHeight: number
}

/** One Solana network as the pipeline sees it: an embedded chain, or a cluster behind RPC URLs. */
export interface SolanaNetwork {
  readonly blockchain: SolanaBlockchain
  /** Milliseconds between two looks at what waits; absent on an embedded chain, which is never late. */
  readonly pollMs?: number
  latestBlockhash(): Promise<Lifetime>
  /**
   * The height of the newest final block. Ask for it before `statuses` and `account`: only then does a transaction
   * that neither of them knows never come once its last valid height is passed.
   */
  blockHeight(): Promise<number>
  /**
   * Micro-lamports to offer for a compute unit; where it is absent, or 0, nothing is offered beyond the base fee.
   *
   * @param options.urgent an earlier transaction for the same came to nothing
   */
  computeUnitPrice?(options: { urgent: boolean }): Promise<bigint>
  /** Lamports that keep an account of so many bytes alive. */
  minimumBalance(bytes: number): Promise<bigint>
  /**
   * Hands in signed transactions (base64), one outcome each. Handing in the same bytes twice is harmless.
   * On the embedded chain it resolves once they are in a block that survives any kill.
   */
  send(raws: readonly string[]): Promise<SendOutcome[]>
  /** The final status of each signature; null where there is none (yet), or where it is too old to be remembered. */
  statuses(signatures: readonly string[]): Promise<(SignatureStatus | null)[]>
  /** An account as of the newest final block, or null. */
  account(address: string): Promise<SolanaAccount | null>
  /** Whether a mint exists at each address as of the newest final block. An account with nothing but a balance is none. */
  mintsExist(addresses: readonly string[]): Promise<boolean[]>
  /** The signature of the transaction that made an account, or null where no node knows it. Absent on an embedded chain. */
  creationOf?(address: string): Promise<string | null>
}
