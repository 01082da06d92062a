import { type Kysely, sql } from 'kysely'

/** Networks behind RPC URLs whose owners are followed: from which block on, and by which process at the moment. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('chains').addColumn('start_block', 'bigint').execute()
  await db.schema.alterTable('chains').addColumn('follower', 'text').execute()
  await db.schema
    .alterTable('chains')
    .addColumn('follower_until', 'bigint', (column) => column.notNull().defaultTo(sql.lit(0)))
    .execute()
}
