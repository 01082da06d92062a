import { type Selectable, sql, type Updateable } from 'kysely'
import type { Blockchain, EvmBlockchain } from '../../api/blockchains.ts'
import { type ClaimOptions, newLease, withDue } from './claim.ts'
import { isPostgres } from './dialect.ts'
import type { CollectionsTable, Db } from './schema.ts'

export type CollectionRow = Selectable<CollectionsTable>

/** The initial fields of a collection that has no addresses yet. */
export type NewCollection = Pick<
  CollectionRow,
  | ('id' | 'name' | 'symbol' | 'wallet_address' | 'enable_api' | 'enable_transfer' | 'is_locked' | 'dynamic')
  | ('enable_burn' | 'royalty_bps' | 'royalty_receiver' | 'max_supply')
>

export async function findCollectionById(db: Db, id: string): Promise<CollectionRow | null> {
  return (await db.selectFrom('collections').selectAll().where('id', '=', id).executeTakeFirst()) ?? null
}

/** Returns the collections with these IDs, in no particular order. */
export async function findCollections(db: Db, ids: readonly string[]): Promise<CollectionRow[]> {
  return await db.selectFrom('collections').selectAll().where('id', 'in', ids).execute()
}

const withId = (db: Db, id: string) => db.selectFrom('collections').selectAll().where('id', '=', id)

/** Returns a collection and locks its row until the caller's transaction ends. */
export async function lockCollection(db: Db, id: string): Promise<CollectionRow | null> {
  return (
    (await withId(db, id)
      .$if(isPostgres(db), (query) => query.forNoKeyUpdate())
      .executeTakeFirst()) ?? null
  )
}

/**
 * Returns a collection and locks its row, but doesn't wait for the lock. Returns null if another process has the lock,
 * or if the collection doesn't exist.
 */
export async function tryLockCollection(db: Db, id: string): Promise<CollectionRow | null> {
  const row = await withId(db, id)
    .$if(isPostgres(db), (query) => query.forNoKeyUpdate().skipLocked())
    .executeTakeFirst()
  return row ?? null
}

/**
 * Returns all collections at an address. Several collections have the same address only if they are on different
 * blockchains.
 */
export async function findCollectionsByAddress(db: Db, address: string): Promise<CollectionRow[]> {
  return db.selectFrom('collections').selectAll().where('contract_address', '=', address).execute()
}

/** Returns the IDs of a blockchain's collections by address. Addresses of other contracts are omitted. */
export async function findCollectionIds(
  db: Db,
  blockchain: EvmBlockchain,
  addresses: readonly string[],
): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom('collections')
    .select(['id', 'contract_address'])
    .where('blockchain', '=', blockchain)
    .where('contract_address', 'in', addresses)
    .execute()
  return new Map(rows.map((row) => [row.contract_address, row.id]))
}

/** Returns the addresses of all collections on a blockchain, deployed or not. */
export async function collectionAddresses(db: Db, blockchain: EvmBlockchain): Promise<string[]> {
  const rows = await db
    .selectFrom('collections')
    .select('contract_address')
    .where('blockchain', '=', blockchain)
    .execute()
  return rows.map((row) => row.contract_address)
}

/** Returns an account's collections with these IDs, in no particular order. */
export async function listCollections(db: Db, accountId: string, ids: readonly string[]): Promise<CollectionRow[]> {
  return db.selectFrom('collections').selectAll().where('account_id', '=', accountId).where('id', 'in', ids).execute()
}

/** Returns whether the database has a collection on a blockchain, deployed or not. */
export async function hasCollections(db: Db, blockchain: Blockchain): Promise<boolean> {
  const query = db.selectFrom('collections').select('id').where('blockchain', '=', blockchain).limit(1)
  return (await query.executeTakeFirst()) !== undefined
}

/**
 * Returns the time when the first deployed collection of a blockchain was accepted, and the block of its transaction.
 * The block is null if it isn't known. Returns null if no collection is deployed.
 */
export async function findFirstDeployment(
  db: Db,
  blockchain: Blockchain,
): Promise<{ acceptedAt: number; block: number | null } | null> {
  const row = await db
    .selectFrom('collections')
    .innerJoin('requests', 'requests.id', 'collections.request_id')
    .leftJoin('transactions', (join) =>
      join
        .onRef('transactions.id', '=', 'collections.transaction_id')
        .on('transactions.state', '=', sql.lit('final' as const)),
    )
    .select(['requests.accepted_at', 'transactions.block_number'])
    .where('collections.blockchain', '=', blockchain)
    .where('collections.status', '=', sql.lit('deployed' as const))
    .orderBy('requests.accepted_at')
    .limit(1)
    .executeTakeFirst()
  if (row === undefined) return null
  const { accepted_at, block_number } = row
  return { acceptedAt: Number(accepted_at), block: block_number === null ? null : Number(block_number) }
}

/**
 * Claims collections that are due for deployment and that aren't signed yet. Skips collections with an active claim of
 * another worker.
 */
export async function claimUndeployedCollections(
  db: Db,
  blockchain: Blockchain,
  options: ClaimOptions,
): Promise<CollectionRow[]> {
  const candidates = db
    .selectFrom('collections')
    .select('id')
    .where('status', '=', sql.lit('initiated'))
    .where('transaction_id', 'is', null)
    .where('blockchain', '=', blockchain)
    .orderBy('next_attempt_at')
  return withDue(db, candidates, options)
    .updateTable('collections')
    .set(newLease(options))
    .where('id', 'in', ({ selectFrom }) => selectFrom('due').select('due.id'))
    .returningAll()
    .execute()
}

/** Releases a claimed collection, so that it is tried again later. Has no effect if the claim was lost. */
export async function postponeCollection(
  db: Db,
  claimed: Pick<CollectionRow, 'id' | 'generation'>,
  at: { nextAttemptAt: number; attempts: number },
): Promise<void> {
  await db
    .updateTable('collections')
    .set({ lease_until: 0, next_attempt_at: at.nextAttemptAt, attempts: at.attempts })
    .where('id', '=', claimed.id)
    .where('generation', '=', claimed.generation)
    .execute()
}

export async function updateCollection(db: Db, id: string, changes: Updateable<CollectionsTable>): Promise<void> {
  await db.updateTable('collections').set(changes).where('id', '=', id).execute()
}

/** Returns the time when the earliest pending collection is due; null if there is none. */
export async function readNextCollectionDueAt(db: Db, blockchain: Blockchain): Promise<number | null> {
  const row = await db
    .selectFrom('collections')
    .select(({ fn }) => fn.min('next_attempt_at').as('at'))
    .where('status', '=', sql.lit('initiated'))
    .where('transaction_id', 'is', null)
    .where('blockchain', '=', blockchain)
    .executeTakeFirst()
  return row?.at ?? null
}

/** Returns the IDs of a blockchain's deployed collections. */
export async function listDeployedCollectionIds(db: Db, blockchain: Blockchain): Promise<string[]> {
  const rows = await db
    .selectFrom('collections')
    .select('id')
    .where('blockchain', '=', blockchain)
    .where('status', '=', 'deployed')
    .execute()
  return rows.map(({ id }) => id)
}

/** Returns the blockchains that have collections. */
export async function usedBlockchains(db: Db): Promise<Blockchain[]> {
  const rows = await db.selectFrom('collections').select('blockchain').distinct().execute()
  return rows.map((row) => row.blockchain)
}

/** Returns the lifecycle of a collection's NFTs, in the format of the API. The royalty is the royalty at creation. */
export const toLifecycleFields = (row: CollectionRow) => ({
  is_dynamic: row.dynamic === 1,
  is_frozen: row.frozen === 1,
  enable_burn: row.enable_burn === 1,
  royalty_bps: row.royalty_bps,
  royalty_receiver: row.royalty_receiver,
  max_supply: row.max_supply === null ? null : Number(row.max_supply),
})

/** Returns the fields that getcollections and collection events share. */
export const collectionFields = (row: CollectionRow) => ({
  contract_address: row.contract_address,
  name: row.name,
  blockchain: row.blockchain,
  wallet_address: row.wallet_address,
  enable_api: row.enable_api === 1,
  enable_transfer: row.enable_transfer === 1,
  is_locked: row.is_locked === 1,
  description: row.description ?? '',
  image: row.image ?? '',
  status: row.status,
  ...toLifecycleFields(row),
  ...(row.error === null ? {} : { error: row.error }),
})
