import { type Kysely, sql } from 'kysely'
import { optional, required } from './columns.ts'

/**
 * Creates the tables of blockchains, of embedded chains' blocks, and of on-chain mints and updates that the database
 * lacks.
 */
export async function createChains(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('chains')
    .addColumn('blockchain', 'text', (c) => c.primaryKey())
    .addColumn('genesis_timestamp', 'bigint', (c) => c.notNull())
    .addColumn('factory_address', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    // `embedded`, or `remote` for a public network with an RPC URL.
    .addColumn('network', 'text', (c) => c.notNull().defaultTo('embedded'))
    .addColumn('chain_id', 'bigint')
    // The block from which the owner follower reads events, and the process that has the follower role.
    .addColumn('start_block', 'bigint')
    .addColumn('follower', 'text')
    .addColumn('follower_until', 'bigint', (c) => c.notNull().defaultTo(0))
    // Identifies a Solana cluster, which has no chain ID.
    .addColumn('genesis_hash', 'text')
    .addColumn('behind_until', 'bigint')
    .execute()
  await db.schema
    .createTable('chain_blocks')
    .addColumn('blockchain', 'text', (c) => c.notNull())
    .$call(required('bigint', 'number', 'timestamp'))
    .addColumn('transactions', 'text', (c) => c.notNull())
    .addColumn('hash', 'text')
    .addPrimaryKeyConstraint('chain_blocks_key', ['blockchain', 'number'])
    .execute()

  // Mints without a transaction in the database, because the database was restored or lost commits, or because another
  // program uses the key.
  await db.schema
    .createTable('unknown_mints')
    .$call(required('text', 'collection_id', 'hash', 'blockchain'))
    .addColumn('block_number', 'bigint', (c) => c.notNull())
    .addColumn('start_id', 'text', (c) => c.notNull())
    .addColumn('token_count', 'integer', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull())
    .$call(optional('text', 'signer', 'directory', 'reason'))
    .addColumn('found_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('unknown_mints_key', ['collection_id', 'hash'])
    .execute()
  await db.schema
    .createIndex('unknown_mints_open')
    .on('unknown_mints')
    .columns(['collection_id'])
    .where(sql<boolean>`state <> 'released'`)
    .execute()

  // Updates without a transaction in the database, with one row for each token.
  await db.schema
    .createTable('unknown_updates')
    .$call(required('text', 'collection_id', 'token_id'))
    .addColumn('sequence', 'integer', (c) => c.notNull())
    .addColumn('blockchain', 'text', (c) => c.notNull())
    .addColumn('block_number', 'bigint', (c) => c.notNull())
    .addColumn('transaction_hash', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('unknown_updates_key', ['collection_id', 'token_id', 'sequence'])
    .execute()
  await db.schema
    .createIndex('unknown_updates_block')
    .on('unknown_updates')
    .columns(['blockchain', 'block_number'])
    .execute()
}
