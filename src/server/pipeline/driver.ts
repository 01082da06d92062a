import type { Blockchain } from '../../api/blockchains.ts'
import type { Assignment } from '../state/nfts.ts'
import type { NewTransaction, Seen } from '../state/transactions.ts'
import type { putBlocks } from '../store/block-table.ts'
import type { CollectionRow } from '../store/collections.ts'
import type { Store } from '../store/open-store.ts'
import type { Db, TransactionKind, TransactionState } from '../store/schema.ts'
import type { TransactionRow } from '../store/transactions.ts'
import type { UnknownMintRow } from '../store/unknown-mints.ts'
import type { Loop, Turn } from './loop.ts'

/** What the parts of a driver share. */
export interface DriverOptions<Name extends Blockchain> {
  store: Store
  blockchain: Name
  now: () => number
}

/**
 * What the steps of the pipeline need of a blockchain. Rows, leases, commits and webhooks are the steps'; what is signed,
 * what the network says of it, and what that means is the driver's.
 *
 * There is one for EVM chains and one for Solana. Each takes embedded chains and public networks, which differ in the
 * network that `src/server/chain` opens.
 */
export interface ChainDriver extends ChainObserver {
  /** Transactions of a collection that may be pending at once. */
  readonly maxPending: number
  /** Fetches what signing takes now: fees, signers, and what they can pay for. Rejects while that is unknown. */
  estimate(): Promise<Signing>
  /** Looks into tokens on chain that the database doesn't know. */
  explain(row: UnknownMintRow): Promise<Explanation>
  /** Signs for accepted transfers. Absent where tokens can't be transferred through the API. */
  readonly signTransfers?: Turn
  /** Follows the owners of tokens. Absent where they can't change. */
  startFollower?(): OwnerFollower
}

/** Sends transactions and looks for their outcomes. */
export interface ChainObserver {
  readonly blockchain: Blockchain
  /** Transactions that are claimed at once. */
  readonly claimSize: number
  /** Transactions that one commit settles. */
  readonly commitSize: number
  /** Broadcasts the stored bytes of claimed transactions, and looks each of them up on chain. In their order. */
  observe(claimed: readonly TransactionRow[]): Promise<Observation[]>
  /** Decides what the outcome of a transaction means for the rows that it was signed for. */
  judge(transaction: TransactionRow, outcome: Outcome): Promise<Verdict>
  /**
   * Puts settled transactions back whose blocks a reorg removed. Absent where every block is final.
   *
   * @returns milliseconds until the next poll; null if nothing is left to watch
   */
  watch?(): Promise<number | null>
}

/** A signed transaction, as far as logs show it. */
export type SignedTransaction = Pick<TransactionRow, 'id' | 'hash' | 'signer' | 'nonce' | 'kind'>

/** There is something to send. The requests are those that it was signed for. */
export type OnSigned = (signed: readonly SignedTransaction[], requests: readonly string[]) => void

/** Prepares transactions on the terms of this moment. */
export interface Signing {
  collection(collection: CollectionRow): Promise<Prepared | { waitMs: number } | { error: string }>
  /** Why nothing can be minted in a collection now; null where something may. */
  delay(collection: CollectionRow): Promise<MintDelay | null>
  /** With `insideCommit`, `mint` asks no network and is called inside the commit, so that processes don't prepare in vain. */
  readonly insideCommit: boolean
  /** Chooses waiting NFTs of a collection and prepares their mint. */
  mint(db: Db, collection: CollectionRow): Promise<PreparedMint | MintDelay>
}

/**
 * `idle`: until a transaction of the collection is settled, or the next sweep.
 * `full`: until any transaction of the blockchain is settled.
 * `soon`: for a moment, so that more NFTs are signed for together.
 * `unknown`: until the recover step has looked into tokens that the database doesn't know.
 */
export type MintDelay = 'idle' | 'full' | 'soon' | 'unknown'

/** Transactions that are ready to be committed. */
export interface Prepared {
  /** Blocks of metadata files that belong to the same commit. */
  blocks: Parameters<typeof putBlocks>[1]
  /**
   * Signs and stores. Nothing is sent before the commit: from then on the network gets these bytes and no others.
   * Nonces are taken here, for which other workers wait: call it last.
   */
  sign(db: Db): Promise<readonly SignedTransaction[]>
}

export interface PreparedMint extends Prepared {
  assignments: readonly Assignment[]
  requests: readonly string[]
  /** Where token IDs are predicted: the one that the batch begins with, and the one after it. */
  tokenIds: { first: bigint; next: bigint } | null
  /** More of the collection can be prepared at once. */
  more: boolean
}

/**
 * `refusal`: why the network refused the bytes. They are sent again later.
 * `failure`: why it couldn't be looked up. It keeps no other transaction from being settled.
 */
export type Observation = { state: 'signed'; waitMs: number; refusal?: string; failure?: unknown } | Outcome

/** How a transaction ended, and what the chain has of it. */
export interface Outcome {
  state: Exclude<TransactionState, 'signed'>
  seen: Seen
  /** The metadata file that the token names, where that isn't the one that the transaction was signed with. */
  file?: { directory: string; index: number }
}

type CollectionChanges = Partial<Pick<CollectionRow, 'next_token_id' | 'batch_limit'>>

/**
 * `done`: it did what it was signed for.
 * `failed`: nothing can do that any more.
 * `again`: its rows are signed for again. It can never be executed, or it had no effect.
 * `wait`: that depends on blocks which aren't final.
 * `none`: nothing waits for it.
 */
export type Verdict =
  | { verdict: 'done'; collection?: CollectionChanges }
  | {
      verdict: 'failed'
      error: string
      /** Instead of what the transaction was signed for. */
      fails?: 'all of the collection' | 'grants of the collection'
      collection?: CollectionChanges
    }
  | {
      verdict: 'again'
      /** It counts towards the limit of reverts. */
      counted?: boolean
      collection?: CollectionChanges
      /** Signed in its place, for the same token. Without it the rows return to the step that signs. */
      replacement?: NewTransaction & { id: string; kind: TransactionKind }
    }
  | { verdict: 'wait'; waitMs: number }
  | { verdict: 'none' }

/**
 * `wait`: looked at again. `explained`: the database knows the tokens now.
 * Otherwise why nothing explains them, and the token ID after them where IDs are predicted.
 */
export type Explanation = 'wait' | 'explained' | { unexplained: string; tokens?: number; nextTokenId?: bigint }

export interface OwnerFollower extends Loop {
  /** Resolves when all that is on the chain now was read, or after a few seconds. */
  caughtUp(): Promise<void>
}
