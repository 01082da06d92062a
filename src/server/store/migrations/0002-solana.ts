import { type Kysely, sql } from 'kysely'

/** Transactions of Solana: no nonces, many at once for a collection, each with the block height at which it expires. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('solana_transactions')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('blockchain', 'text', (c) => c.notNull())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('collection_id', 'text', (c) => c.notNull().references('collections.id'))
    .addColumn('mint', 'text', (c) => c.notNull())
    .addColumn('directory', 'text', (c) => c.notNull())
    .addColumn('raw', 'text')
    .addColumn('signature', 'text', (c) => c.notNull().unique())
    .addColumn('last_valid_height', 'bigint', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('slot', 'bigint')
    .addColumn('error', 'text')
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('attempts', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('next_attempt_at', 'bigint', (c) => c.notNull())
    .addColumn('lease_until', 'bigint', (c) => c.notNull().defaultTo(0))
    .addColumn('generation', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  const index = (name: string) => db.schema.createIndex(`solana_transactions_${name}`).on('solana_transactions')
  await index('due')
    .columns(['blockchain', 'next_attempt_at', 'id'])
    .where(sql.ref('state'), '=', sql.lit('signed'))
    .execute()
  await index('unfinished').columns(['collection_id']).where(sql.ref('state'), '=', sql.lit('signed')).execute()
  // A mint is never signed for twice at a time: the database itself keeps it so.
  await index('lane').unique().columns(['mint']).where(sql.ref('state'), '=', sql.lit('signed')).execute()
  await index('leased').columns(['lease_until']).where(sql.ref('lease_until'), '>', sql.lit(0)).execute()
}
