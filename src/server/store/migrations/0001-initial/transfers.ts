import { type Kysely, sql } from 'kysely'
import { optional, required } from './columns.ts'
import type { InitialDialect } from './dialect.ts'

/**
 * Creates the tables of requested transfers and burns of NFTs, and of transfers on chain that the owner follower read.
 */
export async function createTransfers(db: Kysely<unknown>, dialect: InitialDialect): Promise<void> {
  await db.schema
    .createTable('transfers')
    .addColumn('seq', dialect.sequence, dialect.asSequence)
    .addColumn('id', 'text', (c) => c.notNull().unique())
    .addColumn('kind', 'text', (c) => c.notNull().defaultTo('transfer'))
    .addColumn('request_id', 'text', (c) => c.notNull().references('requests.id'))
    .addColumn('collection_id', 'text', (c) => c.notNull().references('collections.id'))
    .addColumn('nft_id', 'text', (c) => c.notNull().references('nfts.id'))
    .$call(required('text', 'blockchain', 'sender', 'receiver'))
    .addColumn('receiver_name', 'text')
    .addColumn('status', 'text', (c) => c.notNull())
    .$call(optional('text', 'error', 'transaction_id'))
    .addColumn('returned', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  const index = (name: string) => db.schema.createIndex(`transfers_${name}`).on('transfers')
  // An NFT has at most one pending transfer, unless a reorg makes several transfers pending again.
  await index('pending')
    .unique()
    .columns(['nft_id'])
    .where(sql<boolean>`status = 'initiated' and returned = 0`)
    .execute()
  await index('unsigned')
    .columns(['blockchain', 'seq'])
    .where(sql<boolean>`status = 'initiated' and transaction_id is null`)
    .execute()
  await index('request').columns(['request_id']).execute()
  // Index for computing the costs that runs with a limit reserve.
  await index('waiting')
    .columns(['collection_id'])
    .where(sql<boolean>`status = 'initiated' and transaction_id is null`)
    .execute()
  await index('transaction').columns(['transaction_id']).execute()
  // This index includes transfers that a reorg made pending again, which `transfers_pending` omits.
  await index('initiated').columns(['nft_id']).where(sql.ref('status'), '=', sql.lit('initiated')).execute()
  // These two indexes omit unsigned transfers, which have separate indexes.
  const isSigned = sql<boolean>`transaction_id is not null`
  await index('nft').columns(['nft_id', 'seq']).where(isSigned).execute()
  await index('collection').columns(['collection_id', 'transaction_id']).where(isSigned).execute()

  await db.schema
    .createTable('owner_events')
    .addColumn('blockchain', 'text', (c) => c.notNull())
    .addColumn('block_number', 'bigint', (c) => c.notNull())
    .addColumn('log_index', 'integer', (c) => c.notNull())
    .addColumn('transaction_hash', 'text', (c) => c.notNull())
    .addColumn('collection_id', 'text', (c) => c.notNull().references('collections.id'))
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('token_id', 'text')
    .$call(required('text', 'previous', 'next'))
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
