import { type Kysely, sql } from 'kysely'

/** Lookups whose cost must not grow with what is finished: each of these indexes holds only what isn't, or one row. */
export async function up(db: Kysely<unknown>): Promise<void> {
  // Asked before anything is signed: how many transactions of a signer wait.
  await db.schema
    .createIndex('transactions_ahead')
    .on('transactions')
    .columns(['blockchain', 'signer'])
    .where(sql.ref('state'), '=', sql.lit('signed'))
    .execute()
  await db.schema
    .createIndex('transactions_factory')
    .on('transactions')
    .columns(['blockchain'])
    .where(sql.ref('kind'), '=', sql.lit('factory'))
    .execute()
  // Those that a reorg has put back are pending too, which `transfers_pending` leaves out.
  await db.schema
    .createIndex('transfers_initiated')
    .on('transfers')
    .columns(['nft_id'])
    .where(sql.ref('status'), '=', sql.lit('initiated'))
    .execute()
}
