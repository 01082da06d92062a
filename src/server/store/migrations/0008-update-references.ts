import type { Kysely } from 'kysely'

/** Adds the reference ID of an update, so that clients recognize which update made the metadata of an NFT. */
export async function addUpdateReferences(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('updates').addColumn('reference_id', 'text').execute()
}
