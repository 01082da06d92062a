import type { Kysely } from 'kysely'

/** Adds updates on chain that the database doesn't have: it was restored, or lost commits. Each token has a row. */
export async function addUnknownUpdates(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('unknown_updates')
    .addColumn('collection_id', 'text', (c) => c.notNull())
    .addColumn('token_id', 'text', (c) => c.notNull())
    .addColumn('sequence', 'integer', (c) => c.notNull())
    .addColumn('blockchain', 'text', (c) => c.notNull())
    .addColumn('block_number', 'bigint', (c) => c.notNull())
    .addColumn('transaction_hash', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('unknown_updates_key', ['collection_id', 'token_id', 'sequence'])
    .execute()
  await db.schema
    .createIndex('unknown_updates_block')
    .on('unknown_updates')
    .columns(['blockchain', 'block_number'])
    .execute()
}
