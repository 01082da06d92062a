import type { Kysely } from 'kysely'

/** Since which block an owner owns, where a transfer told it before the follower came there. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('nfts').addColumn('owner_block', 'bigint').execute()
}
