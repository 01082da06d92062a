import { type Kysely, sql } from 'kysely'
import { isLeased, optional, required, withLease, zeros } from './columns.ts'
import type { InitialDialect } from './dialect.ts'

export async function createCollections(db: Kysely<unknown>, dialect: InitialDialect): Promise<void> {
  await db.schema
    .createTable('collections')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('account_id', 'text', (c) => c.notNull().references('accounts.id'))
    .addColumn('request_id', 'text', (c) => c.notNull().references('requests.id'))
    .$call(required('text', 'blockchain', 'name', 'symbol', 'wallet_address', 'contract_address', 'factory_address'))
    .$call(required('integer', 'enable_api', 'enable_transfer', 'is_locked'))
    .$call(zeros('integer', 'dynamic', 'enable_burn', 'royalty_bps'))
    .$call(optional('text', 'royalty_receiver', 'max_supply'))
    .$call(zeros('integer', 'revoked', 'frozen', 'update_count'))
    .$call(optional('text', 'description', 'image'))
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('error', 'text')
    .addColumn('next_token_id', 'text', (c) => c.notNull())
    .addColumn('batch_limit', 'integer')
    .addColumn('transaction_id', 'text')
    .$call(withLease)
    .addUniqueConstraint('collections_address', ['blockchain', 'contract_address'])
    .execute()
  const collections = (name: string) => db.schema.createIndex(`collections_${name}`).on('collections')
  await collections('due').columns(['next_attempt_at']).where(sql.ref('status'), '=', sql.lit('initiated')).execute()
  await collections('leased').columns(['lease_until']).where(isLeased).execute()
  await collections('account').columns(['account_id', 'id']).execute()
  await collections('address_lookup').columns(['contract_address']).execute()

  await db.schema
    .createTable('nfts')
    .addColumn('seq', dialect.sequence, dialect.asSequence)
    .addColumn('id', 'text', (c) => c.notNull().unique())
    .addColumn('request_id', 'text', (c) => c.notNull().references('requests.id'))
    .addColumn('collection_id', 'text', (c) => c.notNull().references('collections.id'))
    .addColumn('sender', 'text')
    .addColumn('receiver', 'text', (c) => c.notNull())
    .$call(optional('text', 'receiver_name', 'owner'))
    // Block of the transfer that set the owner.
    .addColumn('owner_block', 'bigint')
    .addColumn('metadata', 'text', (c) => c.notNull())
    .addColumn('files', 'text')
    .$call(required('text', 'status', 'step'))
    .$call(optional('text', 'error', 'token_id', 'metadata_url', 'transaction_id'))
    .addColumn('batch_index', 'integer')
    .$call(zeros('integer', 'dynamic', 'frozen', 'revision'))
    .addColumn('update_id', 'text')
    .$call(withLease)
    .execute()
  const nfts = (name: string) => db.schema.createIndex(`nfts_${name}`).on('nfts')
  const isAt = (step: string) => sql<boolean>`step = ${sql.lit(step)}`
  // Lists read only this index, so that their cost doesn't depend on the size of the table.
  await nfts('listing').columns(['collection_id', 'seq', 'id']).execute()
  await nfts('files_due').columns(['next_attempt_at', 'seq']).where(isAt('files')).execute()
  await nfts('mint_due').columns(['collection_id', 'seq']).where(isAt('mint')).execute()
  await nfts('on_chain').columns(['transaction_id']).where(isAt('chain')).execute()
  await nfts('leased').columns(['lease_until']).where(isLeased).execute()
  // Finds the token of an event, and prevents duplicate tokens in a collection.
  await nfts('token')
    .unique()
    .columns(['collection_id', 'token_id'])
    .where(sql.ref('token_id'), 'is not', null)
    .execute()
  await nfts('owned').columns(['collection_id', 'owner', 'seq']).where(sql.ref('owner'), 'is not', null).execute()
  await nfts('failed').columns(['collection_id', 'seq']).where(sql.ref('status'), '=', sql.lit('failed')).execute()
}
