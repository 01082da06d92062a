import { backoffMs } from '../../../core/backoff.ts'
import { addTransactions } from '../../state/transactions.ts'
import { buildDirectory } from '../../storage/directory.ts'
import { putBlocks } from '../../store/block-table.ts'
import {
  type CollectionRow,
  claimUndeployedCollections,
  lockCollection,
  nextCollectionDue,
  postponeCollection,
  updateCollection,
} from '../../store/collections.ts'
import { claimMoment, leaseMs, withLeases } from '../leases.ts'
import type { Turn } from '../loop.ts'
import { collectionFile, orderOfCollection } from './orders.ts'
import { requireFunds } from './payable.ts'
import { signRow } from './sign.ts'
import type { SolanaSigningOptions } from './step-options.ts'

const LEASE_MS = 30_000

/** Signs the transactions that make collections: the group mint, and its one token for the collection's wallet. */
export function createSolanaDeployStep({ store, solana, blockchain, now, log, onSigned }: SolanaSigningOptions): Turn {
  const make = async (collection: CollectionRow): Promise<void> => {
    await requireFunds({ store, solana, blockchain })
    const [signer, network] = await Promise.all([solana.signer(blockchain), solana.network(blockchain)])
    const { cid: directory, blocks } = await buildDirectory([collectionFile(collection)])
    const lifetime = await network.latestBlockhash()
    const facts = { collectionId: collection.id, directory, now: now() }
    const row = await signRow({ signer, network, lifetime }, orderOfCollection(collection, directory), facts)
    const signed = await store.transaction(async (db) => {
      const current = await lockCollection(db, collection.id)
      if (current?.generation !== collection.generation || current.transaction_id !== null) return false
      await addTransactions(db, [row])
      await updateCollection(db, collection.id, { transaction_id: row.id, lease_until: 0 })
      await putBlocks(db, blocks, store.publishTo)
      return true
    })
    if (!signed) return
    const { id: transaction, hash: signature, kind } = row
    log.info({ blockchain, transaction, signature, kind, requests: [collection.request_id] }, 'a transaction is signed')
    onSigned()
  }

  return async () => {
    const options = { now: claimMoment(store, now), leaseMs: leaseMs(store, LEASE_MS), limit: 50 }
    const claimed = await claimUndeployedCollections(store.db, options, [blockchain])
    let failure: unknown
    for (const collection of claimed) {
      await withLeases(store, 'collections', [collection], () => make(collection)).catch(async (error) => {
        const attempts = collection.attempts + 1
        await postponeCollection(store.db, collection, { attempts, nextAttemptAt: now() + backoffMs(attempts) })
        failure ??= error
      })
    }
    if (failure !== undefined) throw failure
    const due = await nextCollectionDue(store.db, [blockchain])
    return due === null ? null : Math.max(0, due - now())
  }
}
