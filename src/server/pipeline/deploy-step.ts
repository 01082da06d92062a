import { backoffMs } from '../../core/backoff.ts'
import { failCollection } from '../state/collections.ts'
import { putBlocks } from '../store/block-table.ts'
import {
  type CollectionRow,
  claimUndeployedCollections,
  lockCollection,
  postponeCollection,
  readNextCollectionDueAt,
  updateCollection,
} from '../store/collections.ts'
import type { Store } from '../store/open-store.ts'
import type { Db } from '../store/schema.ts'
import type { ChainDriver, OnSigned } from './driver.ts'
import { claimOptions, withLeases } from './leases.ts'
import type { Turn } from './loop.ts'

const LEASE_MS = 30_000

export interface DeployStepOptions {
  store: Store
  driver: Pick<ChainDriver, 'blockchain' | 'commit' | 'openPreparer'>
  now: () => number
  onSigned: OnSigned
  /** Returns whether this process serves the blockchain. Default: always true. */
  serves?: () => boolean
}

/** Returns a turn that signs the transactions that deploy the collections of a blockchain. */
export function createDeployStep({ store, driver, now, onSigned, serves = () => true }: DeployStepOptions): Turn {
  const { blockchain } = driver

  const deploy = async (collection: CollectionRow): Promise<void> => {
    const { id, attempts, request_id } = collection
    const prepared = await (await driver.openPreparer()).prepareCollection(collection)
    if ('waitMs' in prepared) {
      return postponeCollection(store.db, collection, { attempts, nextAttemptAt: now() + prepared.waitMs })
    }
    const signed = await driver.commit(async (db) => {
      if (!(await hasClaim(db, collection))) return null
      if ('error' in prepared) {
        await failCollection(db, id, prepared.error)
        return null
      }
      await putBlocks(db, prepared.blocks, store.publishTo)
      const transactions = await prepared.sign(db)
      await updateCollection(db, id, { transaction_id: transactions[0]?.id ?? null, lease_until: 0 })
      return transactions
    })
    if (signed !== null) onSigned(signed, [request_id])
  }

  return async () => {
    const claimed = await claimUndeployedCollections(store.db, blockchain, claimOptions(store, now, LEASE_MS, 50))
    let failure: unknown
    for (const collection of claimed) {
      const { attempts } = collection
      if (!serves()) {
        // Release the claim, because this process no longer serves the chain and may be shutting down.
        await postponeCollection(store.db, collection, { attempts, nextAttemptAt: now() })
        continue
      }
      await withLeases(store, 'collections', [collection], () => deploy(collection)).catch(async (error) => {
        const nextAttemptAt = now() + backoffMs(attempts + 1)
        await postponeCollection(store.db, collection, { attempts: attempts + 1, nextAttemptAt })
        failure ??= error
      })
    }
    if (failure !== undefined) throw failure
    const dueAt = await readNextCollectionDueAt(store.db, blockchain)
    return dueAt === null ? null : Math.max(0, dueAt - now())
  }
}

/** Returns whether this worker still has the claim. A worker that has lost its claim must not write. */
async function hasClaim(db: Db, { id, generation }: CollectionRow): Promise<boolean> {
  const current = await lockCollection(db, id)
  return current?.generation === generation && current.transaction_id === null
}
