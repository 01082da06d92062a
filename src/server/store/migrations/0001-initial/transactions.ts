import { type Kysely, sql } from 'kysely'
import { isLeased, withLease } from './columns.ts'

const isSigned = sql<boolean>`state = 'signed'`

/** Transactions of EVM chains and of Solana. */
export async function createTransactions(db: Kysely<unknown>): Promise<void> {
  await createEvmTransactions(db)
  await createAttempts(db)
  await createSolanaTransactions(db)
}

async function createEvmTransactions(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('transactions')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('blockchain', 'text', (c) => c.notNull())
    .addColumn('signer', 'text', (c) => c.notNull())
    .addColumn('nonce', 'integer', (c) => c.notNull())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('collection_id', 'text')
    .addColumn('start_id', 'text')
    .addColumn('token_count', 'integer', (c) => c.notNull())
    .addColumn('directory', 'text')
    .addColumn('raw', 'text', (c) => c.notNull())
    .addColumn('hash', 'text', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('block_number', 'bigint')
    .addColumn('block_hash', 'text')
    .addColumn('gas_used', 'text')
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .$call(withLease)
    // 1 while a reorg may still remove its block.
    .addColumn('watched', 'integer', (c) => c.notNull().defaultTo(0))
    // 1 after a reorg removed its block.
    .addColumn('returned', 'integer', (c) => c.notNull().defaultTo(0))
    // What an operator asks of a transaction that is stuck.
    .addColumn('wish', 'text')
    .addUniqueConstraint('transactions_nonce', ['blockchain', 'signer', 'nonce'])
    .execute()
  const index = (name: string) => db.schema.createIndex(`transactions_${name}`).on('transactions')
  await index('due').columns(['blockchain', 'next_attempt_at', 'nonce']).where(isSigned).execute()
  await index('leased').columns(['lease_until']).where(isLeased).execute()
  await index('watched').columns(['blockchain', 'block_number']).where(sql.ref('watched'), '=', sql.lit(1)).execute()
  // The database itself keeps each collection to one unfinished transaction. A reorg can put several back: they were
  // signed one after the other.
  await index('lane')
    .unique()
    .columns(['collection_id'])
    .where(sql<boolean>`state = 'signed' and returned = 0`)
    .execute()
  // Counts the pending transactions of a signer before anything is signed.
  await index('ahead').columns(['blockchain', 'signer']).where(isSigned).execute()
  await index('factory').columns(['blockchain']).where(sql.ref('kind'), '=', sql.lit('factory')).execute()
  await index('hash').columns(['hash']).execute()
  await index('gas').columns(['collection_id', 'gas_used']).where(sql.ref('gas_used'), 'is not', null).execute()
  await index('directory').columns(['directory']).execute()

  await db.schema
    .createTable('lanes')
    .addColumn('blockchain', 'text', (c) => c.notNull())
    .addColumn('signer', 'text', (c) => c.notNull())
    .addColumn('next_nonce', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('lanes_key', ['blockchain', 'signer'])
    .execute()
}

/** On public networks a transaction is signed again with higher fees, or its nonce is used to cancel it. */
async function createAttempts(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('transaction_attempts')
    .addColumn('transaction_id', 'text', (c) => c.notNull().references('transactions.id'))
    .addColumn('number', 'integer', (c) => c.notNull())
    .addColumn('raw', 'text', (c) => c.notNull())
    .addColumn('hash', 'text', (c) => c.notNull().unique())
    .addColumn('max_fee_per_gas', 'text', (c) => c.notNull())
    .addColumn('max_priority_fee_per_gas', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('cancels', 'integer', (c) => c.notNull().defaultTo(0))
    .addPrimaryKeyConstraint('transaction_attempts_key', ['transaction_id', 'number'])
    .execute()
}

/** Solana has no nonces: a collection has many transactions at once, each with the block height at which it expires. */
async function createSolanaTransactions(db: Kysely<unknown>): Promise<void> {
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
    .$call(withLease)
    .execute()
  const index = (name: string) => db.schema.createIndex(`solana_transactions_${name}`).on('solana_transactions')
  await index('due').columns(['blockchain', 'next_attempt_at', 'id']).where(isSigned).execute()
  await index('unfinished').columns(['collection_id']).where(isSigned).execute()
  // The database itself keeps each mint to one signed transaction.
  await index('lane').unique().columns(['mint']).where(isSigned).execute()
  await index('leased').columns(['lease_until']).where(isLeased).execute()
  await index('directory').columns(['directory']).execute()
}
