import { type Kysely, sql } from 'kysely'

/** Networks whose blocks others make: transactions signed again with higher fees, and blocks that a reorg undoes. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('transaction_attempts')
    .addColumn('transaction_id', 'text', (c) => c.notNull().references('transactions.id'))
    .addColumn('number', 'integer', (c) => c.notNull())
    .addColumn('raw', 'text', (c) => c.notNull())
    .addColumn('hash', 'text', (c) => c.notNull().unique())
    .addColumn('max_fee_per_gas', 'text', (c) => c.notNull())
    .addColumn('max_priority_fee_per_gas', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('transaction_attempts_key', ['transaction_id', 'number'])
    .execute()
  for (const column of ['watched', 'returned']) {
    await db.schema
      .alterTable('transactions')
      .addColumn(column, 'integer', (c) => c.notNull().defaultTo(0))
      .execute()
  }
  await db.schema
    .createIndex('transactions_watched')
    .on('transactions')
    .columns(['blockchain', 'block_number'])
    .where(sql.ref('watched'), '=', sql.lit(1))
    .execute()
  // A reorg can put several transactions of a collection back, and they were signed one after the other.
  await db.schema.dropIndex('transactions_lane').execute()
  await db.schema
    .createIndex('transactions_lane')
    .unique()
    .on('transactions')
    .columns(['collection_id'])
    .where(sql<boolean>`state = 'signed' and returned = 0`)
    .execute()
}
