import type { Kysely } from 'kysely'

/** Which network a blockchain is: one of ours, or the one of this chain id behind RPC URLs. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('chains')
    .addColumn('network', 'text', (column) => column.notNull().defaultTo('embedded'))
    .execute()
  await db.schema.alterTable('chains').addColumn('chain_id', 'bigint').execute()
}
