import { type Kysely, sql } from 'kysely'

/** Allows several pending mints of an EVM collection, each with its own first token ID. */
export async function allowSeveralMints(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('transactions').addColumn('mined', 'text').execute()
  await db.schema.dropIndex('transactions_evm_unfinished').execute()
  // A deployment has no token ID, and a collection has one of them.
  await db.schema
    .createIndex('transactions_evm_unfinished')
    .unique()
    .on('transactions')
    .expression(sql`collection_id, coalesce(start_id, '')`)
    .where(sql<boolean>`state = 'signed' and nonce is not null and collection_id is not null`)
    .execute()
}
