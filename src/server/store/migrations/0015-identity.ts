import type { Kysely } from 'kysely'

/** What clients recognize a backend by: one row, whose key is always 1. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('backend')
    .addColumn('one', 'integer', (column) => column.primaryKey())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('incarnation', 'text', (column) => column.notNull())
    .execute()
}
