import { type Kysely, sql } from 'kysely'

/** Adds what transactions cost, and the most that a run may cost. */
export async function addCosts(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('transactions').addColumn('fee_paid', 'text').execute()
  await db.schema.alterTable('transactions').addColumn('run', 'text').execute()
  await db.schema
    .createIndex('transactions_run')
    .on('transactions')
    .columns(['collection_id', 'run'])
    .where(sql.ref('run'), 'is not', null)
    .execute()
  await db.schema.alterTable('runs').addColumn('max_cost', 'text').execute()
  await db.schema.alterTable('runs').addColumn('nft_gas', 'bigint').execute()
  await db.schema.alterTable('runs').addColumn('nft_bytes', 'bigint').execute()
  await db.schema
    .createIndex('runs_limited')
    .on('runs')
    .columns(['collection_id'])
    .where(sql.ref('max_cost'), 'is not', null)
    .execute()
}
