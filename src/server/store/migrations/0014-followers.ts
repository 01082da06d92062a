import { type Kysely, sql } from 'kysely'

/**
 * Networks behind RPC URLs whose owners are followed: from which block on, and by which process at the moment. And
 * Solana clusters behind RPC URLs, which have no chain id: they are told apart by their genesis.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('chains').addColumn('start_block', 'bigint').execute()
  await db.schema.alterTable('chains').addColumn('follower', 'text').execute()
  await db.schema
    .alterTable('chains')
    .addColumn('follower_until', 'bigint', (column) => column.notNull().defaultTo(sql.lit(0)))
    .execute()
  await db.schema.alterTable('chains').addColumn('genesis_hash', 'text').execute()
}
