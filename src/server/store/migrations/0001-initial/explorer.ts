import { type Kysely, sql } from 'kysely'
import { optional } from './columns.ts'
import type { InitialDialect } from './dialect.ts'

/** Creates the tables for lookups of the web explorer: runs, counts of NFTs, and words of titles and file names. */
export async function createExplorerTables(db: Kysely<unknown>, dialect: InitialDialect): Promise<void> {
  // A run's row is written with its first request.
  await db.schema
    .createTable('runs')
    .addColumn('account_id', 'text', (c) => c.notNull().references('accounts.id'))
    .addColumn('run', 'text', (c) => c.notNull())
    .addColumn('collection_id', 'text', (c) => c.notNull().references('collections.id'))
    .addColumn('started_at', 'bigint', (c) => c.notNull())
    // The run's limits: its maximum cost and gas price.
    .$call(optional('text', 'max_cost', 'max_fee'))
    .$call(optional('bigint', 'nft_gas', 'nft_bytes'))
    .addPrimaryKeyConstraint('runs_key', ['account_id', 'run'])
    .execute()
  await db.schema.createIndex('runs_started').on('runs').columns(['started_at', 'run']).execute()
  await db.schema.createIndex('runs_account').on('runs').columns(['account_id', 'started_at', 'run']).execute()
  await db.schema.createIndex('runs_name').on('runs').columns(['run', 'started_at']).execute()
  await db.schema
    .createIndex('runs_limited')
    .on('runs')
    .columns(['collection_id'])
    .where(sql<boolean>`max_cost is not null or max_fee is not null`)
    .execute()

  await dialect.createNftCounts(db)

  // Words and the NFTs that have them, separately for each account. A background job has indexed the NFTs up to the
  // cursor.
  await dialect.createNftTerms(db)
  await db.schema
    .createTable('nft_term_cursor')
    .addColumn('id', 'integer', (c) => c.primaryKey())
    .addColumn('next_seq', 'bigint', (c) => c.notNull())
    .addColumn('gaps', 'text', (c) => c.notNull())
    .execute()
}
