import { type Kysely, sql } from 'kysely'

/** Adds the most that a run offers for a unit of gas. */
export async function addRunFees(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('runs').addColumn('max_fee', 'text').execute()
  await db.schema.dropIndex('runs_limited').execute()
  await db.schema
    .createIndex('runs_limited')
    .on('runs')
    .columns(['collection_id'])
    .where(sql<boolean>`max_cost is not null or max_fee is not null`)
    .execute()
}
