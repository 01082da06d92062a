import { type Kysely, sql } from 'kysely'
import { isPostgres } from '../../dialect.ts'

/** The names that clients gave their operations, and what each names. */
export async function createReferences(db: Kysely<unknown>): Promise<void> {
  // The database itself keeps each reference ID to one operation, also where several processes accept at once.
  await db.schema
    .createTable('operation_references')
    .addColumn('scope_id', 'text', (c) => c.notNull())
    .addColumn('operation', 'text', (c) => c.notNull())
    .addColumn('reference_id', 'text', (c) => c.notNull())
    .addColumn('digest', 'text', (c) => c.notNull())
    .addColumn('target_id', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('operation_references_key', ['scope_id', 'operation', 'reference_id'])
    .$call((table) => (isPostgres(db) ? table : table.modifyEnd(sql`without rowid`)))
    .execute()
}
