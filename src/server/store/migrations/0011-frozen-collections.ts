import type { Kysely } from 'kysely'

/** Adds whether the owner of a collection has frozen its metadata. */
export async function addFrozenCollections(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('collections')
    .addColumn('frozen', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
}
