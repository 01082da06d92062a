import { type Kysely, sql } from 'kysely'
import { isPostgres } from '../../dialect.ts'
import { optional, required } from './columns.ts'

/** Creates the table of clients' reference IDs and their operations. */
export async function createReferences(db: Kysely<unknown>): Promise<void> {
  // The primary key permits only one operation for each reference ID, even if several processes accept requests
  // concurrently.
  await db.schema
    .createTable('operation_references')
    .$call(required('text', 'scope_id', 'operation', 'reference_id', 'digest', 'target_id'))
    .$call(optional('text', 'label', 'kind', 'alias'))
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
