import { type Kysely, sql } from 'kysely'
import { isPostgres } from '../dialect.ts'
import { isLeased, withLease } from './0001-initial/columns.ts'

/** Adds what changes after an NFT is minted: updates and freezes of its metadata, and burns. */
export async function addLifecycle(db: Kysely<unknown>): Promise<void> {
  const flag = (table: string, name: string) =>
    db.schema
      .alterTable(table)
      .addColumn(name, 'integer', (c) => c.notNull().defaultTo(0))
      .execute()
  await flag('collections', 'update_count')
  for (const name of ['dynamic', 'frozen', 'revision']) await flag('nfts', name)
  await db.schema.alterTable('nfts').addColumn('update_id', 'text').execute()
  await db.schema.alterTable('transactions').addColumn('update_sequence', 'integer').execute()
  await db.schema
    .alterTable('transfers')
    .addColumn('kind', 'text', (c) => c.notNull().defaultTo('transfer'))
    .execute()

  await db.schema
    .createTable('updates')
    .addColumn('seq', isPostgres(db) ? 'bigserial' : 'integer', (c) =>
      isPostgres(db) ? c.primaryKey() : c.primaryKey().autoIncrement(),
    )
    .addColumn('id', 'text', (c) => c.notNull())
    .addColumn('request_id', 'text', (c) => c.notNull().references('requests.id'))
    .addColumn('collection_id', 'text', (c) => c.notNull().references('collections.id'))
    .addColumn('nft_id', 'text', (c) => c.notNull().references('nfts.id'))
    .addColumn('blockchain', 'text', (c) => c.notNull())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('metadata', 'text', (c) => c.notNull())
    .addColumn('files', 'text')
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('step', 'text', (c) => c.notNull())
    .addColumn('error', 'text')
    .addColumn('transaction_id', 'text')
    .addColumn('revision', 'integer')
    .addColumn('returned', 'integer', (c) => c.notNull().defaultTo(0))
    .$call(withLease)
    .execute()
  const index = (name: string) => db.schema.createIndex(`updates_${name}`).on('updates')
  const isAt = (step: string) => sql<boolean>`step = ${sql.lit(step)}`
  // A freeze of several NFTs has one ID.
  await index('id').unique().columns(['id', 'nft_id']).execute()
  // A unique index keeps each NFT to one pending update. A reorg can make several pending again.
  await index('pending')
    .unique()
    .columns(['nft_id'])
    .where(sql<boolean>`status = 'initiated' and returned = 0`)
    .execute()
  await index('initiated').columns(['nft_id']).where(sql.ref('status'), '=', sql.lit('initiated')).execute()
  await index('files_due').columns(['next_attempt_at', 'seq']).where(isAt('files')).execute()
  await index('sign_due').columns(['blockchain', 'collection_id', 'seq']).where(isAt('sign')).execute()
  await index('on_chain').columns(['collection_id']).where(isAt('chain')).execute()
  await index('leased').columns(['lease_until']).where(isLeased).execute()
  await index('transaction').columns(['transaction_id']).where(sql.ref('transaction_id'), 'is not', null).execute()
  await index('collection').columns(['collection_id', 'revision']).where(sql.ref('revision'), 'is not', null).execute()
  await index('nft').columns(['nft_id', 'seq']).execute()
}
