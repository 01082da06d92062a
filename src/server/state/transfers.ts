import { sql } from 'kysely'
import { enqueueTransferEvent } from '../store/outbox.ts'
import type { Db } from '../store/schema.ts'
import { type NewRow, stateDb } from './state-db.ts'

/** Stores an accepted transfer. Returns false without writing anything if the NFT already has a pending transfer. */
export async function addTransfer(db: Db, transfer: Omit<NewRow<'transfers'>, 'status'>): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await stateDb(db)
    .insertInto('transfers')
    .values({ ...transfer, status: 'initiated' })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return (numInsertedOrUpdatedRows ?? 0n) > 0n
}

/** Makes a transfer pending again with the same transaction, because a reorg removed its block. */
export async function withdrawTransfer(db: Db, transactionId: string): Promise<void> {
  const transfer = await stateDb(db)
    .updateTable('transfers')
    .set({ status: 'initiated', returned: 1 })
    .where('transaction_id', '=', transactionId)
    .where('status', '=', 'deployed')
    .returning('nft_id')
    .executeTakeFirst()
  if (transfer === undefined) return
  // Restore the previous owner from the recorded events. The follower rolls back the events of the removed block.
  await sql`
    update nfts set owner = coalesce((select next from owner_events
      where owner_events.collection_id = nfts.collection_id and owner_events.token_id = nfts.token_id
      order by block_number desc, log_index desc limit 1), receiver)
    where id = ${transfer.nft_id} and owner is not null`.execute(db)
}

export async function endTransfer(
  db: Db,
  id: string,
  end: { status: 'deployed' } | { status: 'failed'; error: string },
): Promise<void> {
  const { numUpdatedRows } = await stateDb(db)
    .updateTable('transfers')
    .set(end)
    .where('id', '=', id)
    .where('status', '=', 'initiated')
    .executeTakeFirst()
  if (numUpdatedRows > 0n) await enqueueTransferEvent(db, id, end.status)
}
