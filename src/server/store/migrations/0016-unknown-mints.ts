import { type Kysely, sql } from 'kysely'

/** Mints on chain that no transaction of the database made: it was restored, lost commits, or a key is used elsewhere. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('unknown_mints')
    .addColumn('collection_id', 'text', (c) => c.notNull())
    .addColumn('hash', 'text', (c) => c.notNull())
    .addColumn('blockchain', 'text', (c) => c.notNull())
    .addColumn('block_number', 'bigint', (c) => c.notNull())
    .addColumn('start_id', 'text', (c) => c.notNull())
    .addColumn('token_count', 'integer', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('signer', 'text')
    .addColumn('directory', 'text')
    .addColumn('reason', 'text')
    .addColumn('found_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('unknown_mints_key', ['collection_id', 'hash'])
    .execute()
  await db.schema
    .createIndex('unknown_mints_open')
    .on('unknown_mints')
    .columns(['collection_id'])
    .where(sql<boolean>`state <> 'released'`)
    .execute()
  await db.schema.alterTable('chains').addColumn('behind_until', 'bigint').execute()
}
