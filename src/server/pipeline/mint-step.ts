import { chunksOf } from '../../core/chunks-of.ts'
import { shuffleItems } from '../../core/shuffle-items.ts'
import { assignToTransactions, failNftsOfCollection } from '../state/nfts.ts'
import { putBlocks } from '../store/block-table.ts'
import {
  type CollectionRow,
  findCollections,
  lockCollection,
  tryLockCollection,
  updateCollection,
} from '../store/collections.ts'
import { collectionsWithMintable } from '../store/nfts.ts'
import type { Store } from '../store/open-store.ts'
import { readUnfinished } from '../store/transactions.ts'
import { findBlockedCollections } from '../store/unknown-mints.ts'
import { type ChainDriver, LostRaceError, type MintDelay, type OnSigned, type TransactionPreparer } from './driver.ts'
import type { Turn } from './loop.ts'

const SWEEP_MS = 5000
/** Delay in milliseconds if another process has locked a collection. */
const LOCKED_RETRY_MS = 50
/** Delay in milliseconds while more NFTs are gathered. */
const BATCH_WINDOW_MS = 100

export interface MintStepOptions {
  store: Store
  driver: Pick<ChainDriver, 'blockchain' | 'maxConcurrentCollections' | 'commit' | 'openPreparer' | 'canSignMore'>
  now: () => number
  onSigned: OnSigned
  /** Called when a collection has tokens on chain that the database doesn't have. */
  onUnknownTokens?: () => void
  /** Returns whether this process serves the blockchain. Default: always. */
  serves?: () => boolean
}

export interface MintStep {
  turn: Turn
  /** Marks a collection that may have pending NFTs. It may belong to another blockchain. */
  mark(collectionId: string): void
}

/**
 * Specifies when to continue with a collection. `more`: more can be signed immediately. `locked`: another process has
 * locked the collection.
 */
type MintStepResult = MintDelay | 'more' | 'locked'

/** Delays in milliseconds until a collection is checked again without a wake-up. */
const RETRY_DELAYS_MS: Partial<Record<MintStepResult, number>> = {
  more: 0,
  locked: LOCKED_RETRY_MS,
  soon: BATCH_WINDOW_MS,
}

/**
 * Signs mints of pending NFTs. All pending NFTs of a collection are signed together, even from different requests and
 * for different receivers. They are signed immediately, unless a transaction of the collection waits for a block. In
 * that case, NFTs gather until they fill another transaction.
 */
export function createMintStep(options: MintStepOptions): MintStep {
  const { store, driver, now, onUnknownTokens = () => {} } = options
  const marked = new Set<string>()
  /** Collections whose mints wait for capacity. They are checked again when any transaction is settled. */
  const parked = new Set<string>()
  let sweptAt = 0

  return {
    mark(collectionId) {
      marked.add(collectionId)
      for (const id of parked) marked.add(id)
      parked.clear()
    },

    async turn() {
      if (now() - sweptAt >= SWEEP_MS || now() < sweptAt) {
        sweptAt = now()
        for (const id of await collectionsWithMintable(store.db, driver.blockchain)) marked.add(id)
      }
      let wait: number | null = null
      /** Errors of single collections, which don't block the others. */
      const failures: unknown[] = []
      const later = new Set<string>()
      const signFor = async (preparer: TransactionPreparer, collection: CollectionRow) => {
        const { id } = collection
        try {
          const delay = await preparer.findMintDelay(collection)
          if (typeof delay === 'object' && delay !== null) return await failPendingNfts(store, collection, delay.error)
          const next = delay ?? (await commit(options, preparer, collection))
          if (next === 'full') parked.add(id)
          if (next === 'unknown') onUnknownTokens()
          const ms = RETRY_DELAYS_MS[next]
          if (ms === undefined) return
          later.add(id)
          wait = Math.min(wait ?? ms, ms)
        } catch (error) {
          later.add(id)
          if (error instanceof LostRaceError) wait = 0
          else failures.push(error)
        }
      }
      // Use a random order, so that processes seldom try to lock the same collection.
      const ids = shuffleItems(marked)
      for (const group of chunksOf(ids, driver.maxConcurrentCollections)) {
        for (const id of group) marked.delete(id)
        const markAgain = (error: unknown) => {
          for (const id of [...group, ...later]) marked.add(id)
          throw error
        }
        const ready = await findReadyCollections(options, group).catch(markAgain)
        if (ready.length === 0) continue
        // If no transaction can be signed, keep all collections marked.
        const preparer = await driver.openPreparer().catch(markAgain)
        await Promise.all(ready.map((collection) => signFor(preparer, collection)))
      }
      for (const id of later) marked.add(id)
      if (failures.length > 0) throw failures[0]
      return wait
    },
  }
}

/**
 * Signs and stores the next mint of a collection. With `preparesMintInCommit`, only the process that has locked the
 * collection prepares its mint. When each of four workers prepared the mint, all but one discarded the result:
 * together, they did 3.7 times the work and signed a tenth as many mints. Without `preparesMintInCommit`, the mint is
 * prepared outside the transaction, so that SQLite's only writer isn't blocked.
 */
async function commit(
  { store, driver, onSigned }: MintStepOptions,
  preparer: TransactionPreparer,
  collection: CollectionRow,
): Promise<MintStepResult> {
  const { id } = collection
  const early = preparer.preparesMintInCommit ? null : await preparer.prepareMint(store.db, collection)
  if (typeof early === 'string') return early
  let prepared = early
  const committed = await driver.commit(async (db) => {
    const current = await tryLockCollection(db, id)
    if (current === null) return 'locked'
    // Another process may have changed the collection since it was read.
    if (current.status !== 'deployed') return 'idle'
    const count = new Set(prepared?.assignments.map(({ transactionId }) => transactionId)).size
    const unfinished = await readUnfinished(db, [id])
    if (!driver.canSignMore(current, unfinished(id), prepared === null ? 1 : count)) return 'idle'
    const mint = prepared ?? (await preparer.prepareMint(db, current))
    if (typeof mint === 'string') return mint
    // With a remote signer, this function runs again after the signer has signed, and must store the same mint.
    prepared = mint
    const { assignments, tokenIds } = mint
    if (tokenIds !== null && String(tokenIds.first) !== current.next_token_id) return 'idle'
    if ((await assignToTransactions(db, assignments)) !== assignments.length) throw new LostRaceError()
    if (tokenIds !== null) await updateCollection(db, id, { next_token_id: String(tokenIds.next) })
    await putBlocks(db, mint.blocks, store.publishTo)
    return { mint, signed: await mint.sign(db) }
  })
  if (typeof committed === 'string') return committed
  onSigned(committed.signed, committed.mint.requests)
  return committed.mint.hasMore ? 'more' : 'idle'
}

/**
 * Marks the NFTs of a collection as failed because none of them can ever be minted. Does nothing while the NFTs may
 * belong to a signed transaction or an unknown mint, or if another process has changed the collection.
 */
async function failPendingNfts(store: Store, { id, next_token_id }: CollectionRow, error: string): Promise<void> {
  await store.transaction(async (db) => {
    const current = await lockCollection(db, id)
    if (current?.next_token_id !== next_token_id) return
    if ((await readUnfinished(db, [id]))(id).count > 0 || (await findBlockedCollections(db, [id])).has(id)) return
    await failNftsOfCollection(db, id, error)
  })
}

/** Returns the collections for which a transaction may be signed now. */
async function findReadyCollections(
  { store, driver, serves = () => true }: MintStepOptions,
  ids: readonly string[],
): Promise<CollectionRow[]> {
  const rows = await findCollections(store.db, ids)
  const collections = rows.filter(({ blockchain }) => blockchain === driver.blockchain)
  for (const { id, status, error } of collections) {
    if (status !== 'failed') continue
    // These NFTs were accepted while the collection was failing, so no other step marks them as failed.
    await store.transaction((db) => failNftsOfCollection(db, id, error ?? 'the collection failed'))
  }
  const deployed = collections.filter(({ status }) => status === 'deployed')
  if (deployed.length === 0 || !serves()) return []
  const unfinished = await readUnfinished(store.db, ids)
  // Skip collections with unknown tokens. The recover step examines the tokens and then marks the collection again.
  const unexplained = await findBlockedCollections(store.db, ids)
  return deployed.filter((row) => driver.canSignMore(row, unfinished(row.id), 1) && !unexplained.has(row.id))
}
