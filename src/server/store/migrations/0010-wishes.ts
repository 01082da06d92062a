import { type Kysely, sql } from 'kysely'

/** What an operator asks of a transaction that is stuck, and which signings only take its nonce. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('transactions').addColumn('wish', 'text').execute()
  await db.schema
    .alterTable('transaction_attempts')
    .addColumn('cancels', 'integer', (column) => column.notNull().defaultTo(sql.lit(0)))
    .execute()
}
