import { type Kysely, sql } from 'kysely'
import { asSequence, sequenceType } from './column-types.ts'

/** Transfers, NFTs that are granted by a first owner, and what is needed to follow owners and flags on chain. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('nfts').addColumn('sender', 'text').execute()
  await db.schema
    .alterTable('collections')
    .addColumn('revoked', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  // A token of an event is found by it, and no collection can come to hold a token twice.
  await db.schema
    .createIndex('nfts_token')
    .unique()
    .on('nfts')
    .columns(['collection_id', 'token_id'])
    .where(sql.ref('token_id'), 'is not', null)
    .execute()

  await db.schema
    .createTable('transfers')
    .addColumn('seq', sequenceType(db), asSequence(db))
    .addColumn('id', 'text', (c) => c.notNull().unique())
    .addColumn('request_id', 'text', (c) => c.notNull().references('requests.id'))
    .addColumn('collection_id', 'text', (c) => c.notNull().references('collections.id'))
    .addColumn('nft_id', 'text', (c) => c.notNull().references('nfts.id'))
    .addColumn('blockchain', 'text', (c) => c.notNull())
    .addColumn('sender', 'text', (c) => c.notNull())
    .addColumn('receiver', 'text', (c) => c.notNull())
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('error', 'text')
    .addColumn('transaction_id', 'text')
    .addColumn('returned', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  // At most one pending transfer of an NFT: the database itself sees to it. A reorg can put several back.
  await db.schema
    .createIndex('transfers_pending')
    .unique()
    .on('transfers')
    .columns(['nft_id'])
    .where(sql<boolean>`status = 'initiated' and returned = 0`)
    .execute()
  await db.schema
    .createIndex('transfers_unsigned')
    .on('transfers')
    .columns(['blockchain', 'seq'])
    .where(sql<boolean>`status = 'initiated' and transaction_id is null`)
    .execute()
  await db.schema.createIndex('transfers_transaction').on('transfers').columns(['transaction_id']).execute()

  await db.schema
    .createTable('owner_events')
    .addColumn('blockchain', 'text', (c) => c.notNull())
    .addColumn('block_number', 'bigint', (c) => c.notNull())
    .addColumn('log_index', 'integer', (c) => c.notNull())
    .addColumn('transaction_hash', 'text', (c) => c.notNull())
    .addColumn('collection_id', 'text', (c) => c.notNull().references('collections.id'))
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('token_id', 'text')
    .addColumn('previous', 'text', (c) => c.notNull())
    .addColumn('next', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('owner_events_key', ['blockchain', 'block_number', 'log_index'])
    .execute()
  await db.schema
    .createIndex('owner_events_token')
    .on('owner_events')
    .columns(['collection_id', 'token_id', 'block_number', 'log_index'])
    .execute()
  await db.schema
    .createTable('owner_cursors')
    .addColumn('blockchain', 'text', (c) => c.notNull())
    .addColumn('block_number', 'bigint', (c) => c.notNull())
    .addColumn('block_hash', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('owner_cursors_key', ['blockchain', 'block_number'])
    .execute()
}
