import { type Kysely, sql } from 'kysely'
import { isLeased, optional, required, withLease } from './columns.ts'
import type { InitialDialect } from './dialect.ts'

/** Creates the table of metadata updates, freezes, and commitments to provenance hashes. A commitment has no NFT. */
export async function createUpdates(db: Kysely<unknown>, dialect: InitialDialect): Promise<void> {
  await db.schema
    .createTable('updates')
    .addColumn('seq', dialect.sequence, dialect.asSequence)
    .addColumn('id', 'text', (c) => c.notNull())
    .addColumn('request_id', 'text', (c) => c.notNull().references('requests.id'))
    .addColumn('collection_id', 'text', (c) => c.notNull().references('collections.id'))
    .addColumn('nft_id', 'text', (c) => c.references('nfts.id'))
    .$call(required('text', 'blockchain', 'kind', 'metadata'))
    .addColumn('files', 'text')
    .$call(required('text', 'status', 'step'))
    .$call(optional('text', 'error', 'transaction_id'))
    .addColumn('revision', 'integer')
    .$call(optional('text', 'reference_id', 'first_token_id'))
    .addColumn('returned', 'integer', (c) => c.notNull().defaultTo(0))
    .$call(withLease)
    .execute()
  const index = (name: string) => db.schema.createIndex(`updates_${name}`).on('updates')
  const isAt = (step: string) => sql<boolean>`step = ${sql.lit(step)}`
  // A freeze of several NFTs has one row for each NFT, all with the same ID.
  await index('id').unique().columns(['id', 'nft_id']).execute()
  // An NFT has at most one pending update, unless a reorg makes several updates pending again.
  await index('pending')
    .unique()
    .columns(['nft_id'])
    .where(sql<boolean>`status = 'initiated' and returned = 0`)
    .execute()
  await index('initiated').columns(['nft_id']).where(sql.ref('status'), '=', sql.lit('initiated')).execute()
  await index('files_due').columns(['next_attempt_at', 'seq']).where(isAt('files')).execute()
  await index('sign_due').columns(['blockchain', 'collection_id', 'seq']).where(isAt('sign')).execute()
  await index('on_chain').columns(['collection_id']).where(isAt('chain')).execute()
  await index('request').columns(['request_id']).execute()
  // Index for computing the costs that runs with a limit reserve.
  await index('unsigned')
    .columns(['collection_id'])
    .where(sql<boolean>`status = 'initiated' and transaction_id is null`)
    .execute()
  await index('leased').columns(['lease_until']).where(isLeased).execute()
  await index('transaction').columns(['transaction_id']).where(sql.ref('transaction_id'), 'is not', null).execute()
  await index('collection').columns(['collection_id', 'revision']).where(sql.ref('revision'), 'is not', null).execute()
  await index('nft').columns(['nft_id', 'seq']).execute()
  // A collection can be committed to the same hash only once.
  await index('provenance')
    .unique()
    .columns(['collection_id', 'metadata'])
    .where(sql<boolean>`kind = 'provenance' and status <> 'failed'`)
    .execute()
}
