import { enqueueCollectionEvent } from '../store/outbox.ts'
import type { Db } from '../store/schema.ts'
import { failNftsOfCollection } from './nfts.ts'
import { type NewRow, stateDb } from './state-db.ts'

/** Stores an accepted collection. */
export async function addCollection(db: Db, collection: Omit<NewRow<'collections'>, 'status'>): Promise<void> {
  await stateDb(db)
    .insertInto('collections')
    .values({ ...collection, status: 'initiated' })
    .execute()
}

/** Marks the collection as deployed. Call this function in a transaction, because it also writes webhook events. */
export async function deployCollection(db: Db, id: string): Promise<void> {
  await setStatus(db, id, { status: 'deployed' })
}

/** Marks the collection and every unfinished NFT in it as failed. Call this function in a transaction. */
export async function failCollection(db: Db, id: string, error: string): Promise<void> {
  await setStatus(db, id, { status: 'failed', error, lease_until: 0 })
  await failNftsOfCollection(db, id, error)
}

/** Marks the collection as initiated again, after a reorg removed the contract. */
export async function withdrawCollection(db: Db, id: string): Promise<void> {
  await stateDb(db).updateTable('collections').set({ status: 'initiated' }).where('id', '=', id).execute()
}

async function setStatus(
  db: Db,
  id: string,
  changes: { status: 'deployed' | 'failed'; error?: string; lease_until?: number },
): Promise<void> {
  const { status } = changes
  const { numUpdatedRows } = await stateDb(db)
    .updateTable('collections')
    .set(changes)
    .where('id', '=', id)
    .where('status', '<>', status)
    .executeTakeFirst()
  if (numUpdatedRows > 0n) await enqueueCollectionEvent(db, id, status)
}
