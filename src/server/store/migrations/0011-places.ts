import { type Kysely, sql } from 'kysely'

/** Files in other places than the data dir, and what is to be known to others: an IPFS node, a pinning service. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('stored_files')
    .addColumn('place', 'text', (c) => c.notNull())
    .addColumn('cid', 'text', (c) => c.notNull())
    .addColumn('size', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('stored_files_key', ['place', 'cid'])
    .execute()
  await db.schema
    .createTable('publications')
    .addColumn('target', 'text', (c) => c.notNull())
    .addColumn('cid', 'text', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull().defaultTo('waiting'))
    .addColumn('reference', 'text')
    .addColumn('attempts', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('next_attempt_at', 'bigint', (c) => c.notNull())
    .addColumn('lease_until', 'bigint', (c) => c.notNull().defaultTo(0))
    .addColumn('generation', 'integer', (c) => c.notNull().defaultTo(0))
    .addPrimaryKeyConstraint('publications_key', ['target', 'cid'])
    .execute()
  await db.schema
    .createIndex('publications_due')
    .on('publications')
    .columns(['target', 'next_attempt_at'])
    .where(sql<boolean>`state <> 'done'`)
    .execute()
}
