import type { Blockchain } from '../../api/blockchains.ts'
import type { Assignment } from '../state/nfts.ts'
import type { ChainResult, NewTransaction } from '../state/transactions.ts'
import type { putBlocks } from '../store/block-table.ts'
import type { CollectionRow } from '../store/collections.ts'
import type { Store } from '../store/open-store.ts'
import type { Db, MinedResult, TransactionKind, TransactionState } from '../store/schema.ts'
import type { TransactionRow, UnfinishedTransactions } from '../store/transactions.ts'
import type { UnknownMintRow } from '../store/unknown-mints.ts'
import type { Loop, Turn } from './loop.ts'

/** Dependencies of all parts of a driver. */
export interface DriverOptions<Name extends Blockchain> {
  store: Store
  blockchain: Name
  now: () => number
}

/**
 * The part of the pipeline that depends on the blockchain. The steps handle rows, leases, commits and webhooks. The
 * driver decides what to sign and interprets the network's responses.
 *
 * There is one driver for EVM chains and one for Solana. Each driver works with embedded chains and public networks:
 * `src/server/chain` opens a different network object for each.
 */
export interface ChainDriver extends ChainObserver {
  /** Returns whether `more` transactions of a collection may be signed in addition to its unfinished transactions. */
  canSignMore(collection: CollectionRow, unfinished: UnfinishedTransactions, more: number): boolean
  /** Number of collections for which transactions are signed concurrently. The collections share a preparer. */
  readonly maxConcurrentCollections: number
  /** Runs `work` as one database transaction that may sign. Nothing is sent before the commit. */
  commit<Result>(work: (db: Db) => Promise<Result>): Promise<Result>
  /** Reads the fees, the signers and their funds, which signing requires. Rejects while any of these is unknown. */
  openPreparer(): Promise<TransactionPreparer>
  /** Examines on-chain tokens that the database doesn't have, and assigns them to pending rows. */
  recoverMint(row: UnknownMintRow): Promise<MintRecovery>
  /** Signs accepted transfers. Absent if tokens can't be transferred through the API. */
  readonly signTransfers?: Turn
  /** Signs accepted updates of metadata. Absent if tokens can't be updated. */
  readonly signUpdates?: Turn
  /** Starts tracking the owners of tokens. Absent if owners can't change. */
  startFollower?(): OwnerFollower
}

/** Sends transactions, and looks up and judges their outcomes. */
export interface ChainObserver {
  readonly blockchain: Blockchain
  /** Number of transactions that are claimed at once. */
  readonly claimSize: number
  /** Number of transactions that one commit settles. */
  readonly commitSize: number
  /**
   * Broadcasts the stored bytes of claimed transactions, and looks up each one on chain. Returns the results in the
   * same order.
   */
  observe(claimed: readonly TransactionRow[]): Promise<Observation[]>
  /** Decides what the outcome of a transaction means for the rows that it was signed for. */
  judge(transaction: TransactionRow, outcome: TransactionOutcome): Promise<OutcomeVerdict>
  /**
   * Makes settled transactions pending again if a reorg removed their blocks. Absent if every block is final
   * immediately.
   *
   * @returns milliseconds until the next poll; null if nothing is left to watch
   */
  watch?(): Promise<number | null>
}

/** The fields of a signed transaction that logs show. */
export type SignedTransaction = Pick<TransactionRow, 'id' | 'hash' | 'signer' | 'nonce' | 'kind'>

/** Called when there are transactions to send. `requests` are the requests for which they were signed. */
export type OnSigned = (signed: readonly SignedTransaction[], requests: readonly string[]) => void

/**
 * Thrown if data on which a prepared transaction depends has changed in the meantime. The caller retries immediately.
 */
export class LostRaceError extends Error {}

/** Prepares transactions with the current fees and signers. */
export interface TransactionPreparer {
  prepareCollection(collection: CollectionRow): Promise<PreparedTransactions | { waitMs: number } | { error: string }>
  /**
   * Returns why nothing can be minted in a collection now. Returns null if something can be minted. Returns an error if
   * none of the NFTs without a transaction can ever be minted.
   */
  findMintDelay(collection: CollectionRow): Promise<MintDelay | { error: string } | null>
  /**
   * Whether `mint` runs inside the commit and sends no request to the network. In that case, a process that loses a
   * race has nothing to discard.
   */
  readonly preparesMintInCommit: boolean
  /** Selects pending NFTs of a collection and prepares their mint. */
  prepareMint(db: Db, collection: CollectionRow): Promise<PreparedMint | MintDelay>
}

/**
 * Specifies how long the NFTs of a collection wait:
 * - `idle`: until one of the collection's transactions is in a block or settled, or until the next sweep.
 * - `full`: until any of the backend's transactions on the blockchain is settled.
 * - `soon`: for a short time, to gather more NFTs or to check fees, funds or pending transactions again.
 * - `unknown`: until the recover step has examined tokens that the database doesn't have.
 */
export type MintDelay = 'idle' | 'full' | 'soon' | 'unknown'

/** Transactions that are prepared but not committed. */
export interface PreparedTransactions {
  /** Blocks of metadata files, to be stored in the same commit. */
  blocks: Parameters<typeof putBlocks>[1]
  /**
   * Reserves nonces, signs the transactions, and stores their bytes. Call this function in the `work` that is passed to
   * the driver's `commit`, which may run `work` several times for a remote signer. Nothing is sent before the commit.
   * After the commit, only these bytes are sent. Call the function last, because other workers wait for the reserved
   * nonces.
   */
  sign(db: Db): Promise<readonly SignedTransaction[]>
}

export interface PreparedMint extends PreparedTransactions {
  assignments: readonly Assignment[]
  requests: readonly string[]
  /** The first token ID of the bundle, and the first token ID after the bundle. Null if token IDs aren't predicted. */
  tokenIds: { first: bigint; next: bigint } | null
  /** Whether another mint of the collection can be prepared immediately. */
  hasMore: boolean
}

/**
 * The result of looking up a transaction:
 * - `refusal`: the reason why the network rejected the bytes. The same bytes are sent again later.
 * - `failure`: the error of a failed lookup. The other transactions are still settled.
 * - `mined`, `block`: the result in a block that isn't deep enough, and the block's number. Both are null if the
 * transaction is in no block, and absent if that is unknown.
 */
export type Observation =
  | {
      state: 'signed'
      waitMs: number
      refusal?: string
      failure?: unknown
      mined?: MinedResult | null
      block?: number | null
    }
  | TransactionOutcome

/** The outcome of a transaction, with its data on chain. */
export interface TransactionOutcome {
  state: Exclude<TransactionState, 'signed'>
  seen: ChainResult
  /** The metadata file of the token, if it isn't the file for which the transaction was signed. */
  file?: { directory: string; index: number }
  /** Whether the rows of a canceled transaction get a new transaction. */
  shouldSignAgain?: boolean
}

type CollectionChanges = Partial<Pick<CollectionRow, 'next_token_id' | 'batch_limit' | 'max_supply'>>

/**
 * The consequence of an outcome for the rows of a transaction:
 * - `done`: the transaction did what it was signed for.
 * - `failed`: it can never do what it was signed for.
 * - `again`: its rows get a new transaction, because it had no effect or can never be executed.
 * - `wait`: the outcome depends on blocks that aren't final.
 * - `none`: no rows need to change.
 */
export type OutcomeVerdict =
  | {
      kind: 'done'
      collection?: CollectionChanges
      /** For a commitment, the ID of the collection's next token at the time of the commitment. */
      firstTokenId?: string
    }
  | {
      kind: 'failed'
      error: string
      /** The rows that fail, including the transaction's own rows. If absent, only the transaction's own rows fail. */
      fails?: 'all of the collection' | 'grants of the collection'
      collection?: CollectionChanges
    }
  | {
      kind: 'again'
      /** Whether the revert counts toward the limit of reverts. */
      counted?: boolean
      /** Updates that can never be applied. The transaction's other updates get a new transaction. */
      fails?: readonly { seq: number; error: string }[]
      collection?: CollectionChanges
      /**
       * A new, already signed transaction for the same token. If absent, the step that signs processes the rows again.
       */
      replacement?: NewTransaction & { id: string; kind: TransactionKind }
    }
  | { kind: 'wait'; waitMs: number }
  | { kind: 'none' }

/**
 * The result of examining unknown tokens. `wait`: the tokens must be examined again later. `recovered`: the database
 * now has them. Otherwise, `unexplained` is the reason why the tokens match no rows, and `nextTokenId` is the token ID
 * after them if IDs are predicted.
 */
export type MintRecovery = 'wait' | 'recovered' | { unexplained: string; tokens?: number; nextTokenId?: bigint }

export interface OwnerFollower extends Loop {
  /**
   * Resolves when all events that were on the chain at the time of the call have been read, or after 2 s. On a public
   * network, resolves immediately.
   */
  waitUntilCaughtUp(): Promise<void>
}
