import { type Kysely, sql } from 'kysely'
import { required, withLease } from './columns.ts'
import type { InitialDialect } from './dialect.ts'

/**
 * Creates the tables of IPFS blocks, of files stored outside the data directory, and of content to publish to an IPFS
 * node or a pinning service.
 */
export async function createStorage(db: Kysely<unknown>, dialect: InitialDialect): Promise<void> {
  await db.schema
    .createTable('blocks')
    .addColumn('cid', 'text', (c) => c.primaryKey())
    .addColumn('bytes', dialect.bytes, (c) => c.notNull())
    .execute()
  await db.schema
    .createTable('stored_files')
    .$call(required('text', 'place', 'cid'))
    .addColumn('size', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('stored_files_key', ['place', 'cid'])
    .execute()
  await db.schema
    .createTable('publications')
    .$call(required('text', 'target', 'cid'))
    .addColumn('state', 'text', (c) => c.notNull().defaultTo('waiting'))
    .addColumn('reference', 'text')
    .$call(withLease)
    .addPrimaryKeyConstraint('publications_key', ['target', 'cid'])
    .execute()
  await db.schema
    .createIndex('publications_due')
    .on('publications')
    .columns(['target', 'next_attempt_at'])
    .where(sql<boolean>`state <> 'done'`)
    .execute()
}
