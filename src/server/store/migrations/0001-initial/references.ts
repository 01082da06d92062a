import { type Kysely, sql } from 'kysely'
import { isPostgres } from '../../dialect.ts'

/** Creates the table of the clients' reference IDs and the operations that they refer to. */
export async function createReferences(db: Kysely<unknown>): Promise<void> {
  // The primary key allows one operation for each reference ID, even if several processes accept requests concurrently.
  await db.schema
    .createTable('operation_references')
    .addColumn('scope_id', 'text', (c) => c.notNull())
    .addColumn('operation', 'text', (c) => c.notNull())
    .addColumn('reference_id', 'text', (c) => c.notNull())
    .addColumn('digest', 'text', (c) => c.notNull())
    .addColumn('target_id', 'text', (c) => c.notNull())
    .addColumn('label', 'text')
    .addColumn('kind', 'text')
    .addColumn('alias', 'text')
    .addPrimaryKeyConstraint('operation_references_key', ['scope_id', 'operation', 'reference_id'])
    .$call((table) => (isPostgres(db) ? table : table.modifyEnd(sql`without rowid`)))
    .execute()
  const index = (name: string) => db.schema.createIndex(`operation_references_${name}`).on('operation_references')
  const isContent = sql<boolean>`kind = 'content'`
  await index('content').column('target_id').where(isContent).execute()
  await index('unaliased')
    .columns(['scope_id', 'operation', 'label', 'reference_id'])
    .where(sql<boolean>`${isContent} and alias is null`)
    .execute()
}
