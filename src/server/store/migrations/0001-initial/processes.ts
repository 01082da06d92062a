import type { Kysely } from 'kysely'
import { required } from './columns.ts'

/** Creates the tables that the processes of a backend share: its identity, secrets and rate limits. */
export async function createProcessTables(db: Kysely<unknown>): Promise<void> {
  // The table has a single row with the key 1. Clients identify a backend by this row.
  await db.schema
    .createTable('backend')
    .addColumn('one', 'integer', (c) => c.primaryKey())
    .$call(required('text', 'id', 'incarnation'))
    .execute()
  await db.schema
    .createTable('secrets')
    .addColumn('name', 'text', (c) => c.primaryKey())
    .addColumn('value', 'text', (c) => c.notNull())
    .execute()
  await db.schema
    .createTable('rate_windows')
    .addColumn('name', 'text', (c) => c.primaryKey())
    .addColumn('count', 'integer', (c) => c.notNull())
    .addColumn('ends_at', 'bigint', (c) => c.notNull())
    .execute()
}
