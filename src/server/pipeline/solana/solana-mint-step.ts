import { assignToTransactions, failNftsOfCollection } from '../../state/nfts.ts'
import { addTransactions } from '../../state/transactions.ts'
import { putBlocks } from '../../store/block-table.ts'
import { type CollectionRow, findCollectionById } from '../../store/collections.ts'
import { collectionsWithMintable, listMintable } from '../../store/nfts.ts'
import { MAX_TOLD } from '../../store/requests.ts'
import { countUnfinished } from '../../store/transactions.ts'
import type { Turn } from '../loop.ts'
import { batchDirectory } from '../metadata-file.ts'
import { checkGroup } from './group-members.ts'
import { orderOfNft } from './orders.ts'
import { payableTokens } from './payable.ts'
import { signRow } from './sign.ts'
import type { SolanaSigningOptions } from './step-options.ts'

/** NFTs whose metadata files share a directory, and which are stored by one commit. */
const GROUP = 100
/** Transactions of a collection that may be signed and not finished: what expires together is signed anew together. */
const MAX_AHEAD = 400
/**
 * Few that wait are signed together with those that come while others are under way, but no longer than this after the
 * last group. Measured with a request for each NFT: 10 % less work; and where blocks take their time, nobody waits.
 */
const GATHER_MS = 100
const SWEEP_MS = 5000

export interface SolanaMintStep {
  turn: Turn
  /** NFTs of this collection may be waiting. */
  mark(collectionId: string): void
}

export interface SolanaMintStepOptions extends SolanaSigningOptions {
  /** A collection has members on chain that the database doesn't know. */
  onUnknown: () => void
}

class LostRace extends Error {}

/**
 * Signs for waiting NFTs: a transaction each, because no second one fits into a packet, but a directory of metadata
 * files and a commit for each group. The addresses make the order of the transactions meaningless, so that a
 * collection has many under way at once.
 */
export function createSolanaMintStep({
  store,
  solana,
  blockchain,
  now,
  log,
  onSigned,
  onUnknown,
}: SolanaMintStepOptions): SolanaMintStep {
  const marked = new Set<string>()
  const signedAt = new Map<string, number>()
  let sweptAt = 0

  const isGathering = ({ id }: CollectionRow): boolean => {
    const since = now() - (signedAt.get(id) ?? 0)
    return since >= 0 && since < GATHER_MS
  }

  /** What is left to do for the collection: nothing, more at once, or more after a moment. */
  const sign = async (collection: CollectionRow): Promise<'done' | 'more' | 'later'> => {
    const unfinished = await countUnfinished(store.db, { collectionId: collection.id })
    const payable = await payableTokens({ store, solana, blockchain })
    const room = Math.min(MAX_AHEAD - unfinished, payable)
    const group = room <= 0 ? [] : await listMintable(store.db, collection.id, Math.min(GROUP, room))
    if (group.length === 0) return 'done'
    if (unfinished > 0 && group.length < GROUP && isGathering(collection)) return 'later'
    const [signer, network] = await Promise.all([solana.signer(blockchain), solana.network(blockchain)])
    const members = await checkGroup(store, network, collection)
    if (members === 'unknown') onUnknown()
    if (members !== 'known') return members === 'unclear' ? 'later' : 'done'
    const { cid: directory, blocks } = await batchDirectory(group)
    const lifetime = await network.latestBlockhash()
    const facts = { collectionId: collection.id, directory, now: now() }
    const rows = await Promise.all(
      group.map((nft, index) =>
        signRow({ signer, network, lifetime }, orderOfNft(collection, nft, { directory, index }), facts),
      ),
    )
    const assignments = group.map(({ seq }, index) => ({ seq, transactionId: rows[index]?.id ?? '', index }))
    await store.transaction(async (db) => {
      if ((await assignToTransactions(db, assignments)) !== group.length) throw new LostRace()
      await addTransactions(db, rows)
      await putBlocks(db, blocks, store.publishTo)
    })
    const requests = [...new Set(group.map((nft) => nft.request_id))].slice(0, MAX_TOLD)
    log.info(
      { blockchain, collection: collection.id, transactions: group.length, directory, requests },
      'transactions are signed',
    )
    signedAt.set(collection.id, now())
    onSigned()
    return group.length === GROUP ? 'more' : 'done'
  }

  const work = async (collection: CollectionRow): Promise<'done' | 'more' | 'later'> => {
    // Accepted in the moment in which the collection failed.
    if (collection.status === 'failed') {
      const reason = collection.error ?? 'the collection failed'
      await store.transaction((db) => failNftsOfCollection(db, collection.id, reason))
    }
    return collection.status === 'deployed' ? sign(collection) : 'done'
  }

  return {
    mark(collectionId) {
      marked.add(collectionId)
    },

    async turn() {
      if (now() - sweptAt >= SWEEP_MS || now() < sweptAt) {
        sweptAt = now()
        for (const id of await collectionsWithMintable(store.db)) marked.add(id)
      }
      let wait: number | null = null
      for (const id of [...marked]) {
        marked.delete(id)
        const collection = await findCollectionById(store.db, id)
        if (collection?.blockchain !== blockchain) continue
        try {
          const left = await work(collection)
          if (left !== 'done') marked.add(id)
          if (left === 'more') wait = 0
          if (left === 'later') wait ??= GATHER_MS
        } catch (error) {
          marked.add(id)
          wait = 0
          if (!(error instanceof LostRace)) throw error
        }
      }
      return wait
    },
  }
}
