import { type Kysely, sql } from 'kysely'
import { isLeased, optional, required, withLease } from './columns.ts'

const isSigned = sql<boolean>`state = 'signed'`

/**
 * Creates the tables of transactions of all blockchains. EVM transactions have nonces. Solana transactions have mints
 * and a height at which they expire.
 */
export async function createTransactions(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('transactions')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .$call(required('text', 'blockchain', 'signer'))
    .addColumn('nonce', 'integer')
    .addColumn('kind', 'text', (c) => c.notNull())
    .$call(optional('text', 'collection_id', 'start_id', 'mint'))
    .addColumn('token_count', 'integer', (c) => c.notNull())
    .addColumn('update_sequence', 'integer')
    .addColumn('directory', 'text')
    .$call(required('text', 'raw', 'hash'))
    .addColumn('last_valid_height', 'bigint')
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('block_number', 'bigint')
    .$call(optional('text', 'block_hash', 'gas_used', 'fee_paid', 'run', 'run_collection_id', 'mined', 'error'))
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .$call(withLease)
    // 1 while a reorg can still remove the transaction's block.
    .addColumn('watched', 'integer', (c) => c.notNull().defaultTo(0))
    // 1 after a reorg removed the transaction's block.
    .addColumn('returned', 'integer', (c) => c.notNull().defaultTo(0))
    // The action that an operator requests for a pending transaction.
    .addColumn('requested_action', 'text')
    .execute()
  const index = (name: string) => db.schema.createIndex(`transactions_${name}`).on('transactions')
  const hasNonce = sql.ref('nonce')
  await index('nonce').unique().columns(['blockchain', 'signer', 'nonce']).where(hasNonce, 'is not', null).execute()
  await index('due').columns(['blockchain', 'next_attempt_at', 'id']).where(isSigned).execute()
  await index('leased').columns(['lease_until']).where(isLeased).execute()
  await index('watched').columns(['blockchain', 'block_number']).where(sql.ref('watched'), '=', sql.lit(1)).execute()
  await index('unfinished').columns(['collection_id']).where(isSigned).execute()
  // Unfinished mints of an EVM collection have different first token IDs. A deployment has no token ID, so a collection
  // has at most one unfinished deployment.
  await index('evm_unfinished')
    .unique()
    .expression(sql`collection_id, coalesce(start_id, '')`)
    .where(sql<boolean>`state = 'signed' and nonce is not null and collection_id is not null`)
    .execute()
  // A Solana mint has at most one unfinished transaction.
  await index('mint_unfinished').unique().columns(['mint']).where(isSigned).execute()
  // Index for counting a signer's pending transactions before signing.
  await index('ahead').columns(['blockchain', 'signer']).where(isSigned).execute()
  await index('factory').columns(['blockchain']).where(sql.ref('kind'), '=', sql.lit('factory')).execute()
  await index('hash').columns(['hash']).execute()
  await index('run').columns(['run_collection_id', 'run']).where(sql.ref('run'), 'is not', null).execute()
  await index('gas').columns(['collection_id', 'gas_used']).where(sql.ref('gas_used'), 'is not', null).execute()
  await index('directory').columns(['directory']).execute()

  await db.schema
    .createTable('signer_nonces')
    .$call(required('text', 'blockchain', 'signer'))
    .addColumn('next_nonce', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('signer_nonces_key', ['blockchain', 'signer'])
    .execute()
  await createAttempts(db)
}

/**
 * Creates the table of replacements. On public networks, a transaction can be signed again with higher fees, or
 * canceled.
 */
async function createAttempts(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('transaction_attempts')
    .addColumn('transaction_id', 'text', (c) => c.notNull().references('transactions.id'))
    .addColumn('number', 'integer', (c) => c.notNull())
    .addColumn('raw', 'text', (c) => c.notNull())
    .addColumn('hash', 'text', (c) => c.notNull().unique())
    .$call(required('text', 'max_fee_per_gas', 'max_priority_fee_per_gas'))
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('cancels', 'integer', (c) => c.notNull().defaultTo(0))
    .addPrimaryKeyConstraint('transaction_attempts_key', ['transaction_id', 'number'])
    .execute()
}
