import type { Kysely } from 'kysely'

/** Adds the version of the API that a key is for. */
export async function addApiVersion(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('api_keys').addColumn('api_version', 'text').execute()
}
