import { type RawBuilder, type Selectable, sql } from 'kysely'
import { ZERO_ADDRESS } from '../../api/address.ts'
import { type Blockchain, isEvm } from '../../api/blockchains.ts'
import { type ClaimOptions, newLease, withDue } from './claim.ts'
import { isPostgres } from './dialect.ts'
import type { Db, NftsTable } from './schema.ts'

export type NftRow = Selectable<NftsTable>

/** Returns SQL for the current metadata or files of an NFT, from its last update or its mint. */
export const currentValueSql = (column: 'metadata' | 'files'): RawBuilder<unknown> =>
  sql`case when nfts.update_id is null then ${sql.ref(`nfts.${column}`)} else (
    select ${sql.ref(`present.${column}`)} from updates as present
    where present.id = nfts.update_id and present.nft_id = nfts.id) end`

/** Returns IDs of a collection's NFTs in the order of acceptance. */
export async function listNftIds(db: Db, collectionId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('nfts')
    .select('id')
    .where('collection_id', '=', collectionId)
    .orderBy('seq')
    .execute()
  return rows.map((row) => row.id)
}

const NFT_COLUMNS = [
  'nfts.id',
  'nfts.token_id',
  'nfts.receiver',
  'nfts.receiver_name',
  'nfts.owner',
  'nfts.status',
  'nfts.metadata_url',
  'nfts.error',
  'nfts.step',
  'nfts.frozen',
  'nfts.revision',
  'nfts.dynamic',
  'collections.dynamic as collection_dynamic',
  'collections.frozen as collection_frozen',
  'collections.contract_address',
] as const

/** Returns NFTs with these IDs that an account may read, with their current metadata, in no particular order. */
export async function findNfts(db: Db, accountId: string, ids: readonly string[]) {
  const rows = await db
    .selectFrom('nfts')
    .innerJoin('collections', 'collections.id', 'nfts.collection_id')
    .leftJoin('updates', (join) =>
      join.onRef('updates.id', '=', 'nfts.update_id').onRef('updates.nft_id', '=', 'nfts.id'),
    )
    .select([...NFT_COLUMNS, 'nfts.collection_id', 'collections.account_id', 'collections.blockchain'])
    .select(['nfts.transaction_id', 'nfts.request_id'])
    .select((row) => [
      row.fn.coalesce('updates.metadata', 'nfts.metadata').as('metadata'),
      row.fn.coalesce('updates.files', 'nfts.files').as('files'),
      'updates.reference_id as revision_reference_id',
    ])
    .where('nfts.id', 'in', ids)
    .execute()
  // Filter in JavaScript. Without statistics, SQLite would start with the account's collections and read all of their
  // NFTs.
  return rows.filter(({ account_id }) => account_id === accountId)
}

/** Returns an NFT of any account by ID, with its collection's address and blockchain. */
export async function findNft(db: Db, id: string) {
  const row = await db
    .selectFrom('nfts')
    .innerJoin('collections', 'collections.id', 'nfts.collection_id')
    .select([...NFT_COLUMNS, 'nfts.collection_id', 'collections.blockchain', 'collections.account_id'])
    .where('nfts.id', '=', id)
    .executeTakeFirst()
  return row ?? null
}

/** Locks NFTs until the transaction ends, so that a change is checked only after concurrent changes have ended. */
export async function lockNfts(db: Db, ids: readonly string[]): Promise<void> {
  if (!isPostgres(db)) return
  // Lock rows always in the same order, so that two processes can't deadlock.
  await db.selectFrom('nfts').select('id').where('id', 'in', ids).orderBy('id').forNoKeyUpdate().execute()
}

/** Returns the owner of an NFT. For a burned token, this is the zero address on EVM chains, and null on Solana. */
export function resolveOwner(nft: Pick<NftRow, 'owner' | 'receiver'> & { blockchain: Blockchain }): string | null {
  if (nft.owner === ZERO_ADDRESS && !isEvm(nft.blockchain)) return null
  return nft.owner ?? nft.receiver
}

export async function setOwner(db: Db, id: string, owner: string, block: number): Promise<void> {
  await db.updateTable('nfts').set({ owner, owner_block: block }).where('id', '=', id).execute()
}

/** Returns NFTs of a collection in the order of their acceptance. */
export async function listTokens(
  db: Db,
  collectionId: string,
  { after, limit }: { after: number; limit: number },
): Promise<Pick<NftRow, 'seq' | 'id' | 'token_id' | 'owner'>[]> {
  return await db
    .selectFrom('nfts')
    .select(['seq', 'id', 'token_id', 'owner'])
    .where('collection_id', '=', collectionId)
    .where('seq', '>', after)
    .orderBy('seq')
    .limit(limit)
    .execute()
}

/** Tables of rows with files to fetch: new NFTs, and updates of NFTs. */
export type TableWithFiles = 'nfts' | 'updates'

/** A claimed row with files to fetch. */
export type FileWork = { table: TableWithFiles } & Pick<
  NftRow,
  'seq' | 'id' | 'request_id' | 'collection_id' | 'metadata' | 'attempts' | 'next_attempt_at' | 'generation'
>

/** Claims rows that are due and whose files must be fetched. Skips rows with an active lease. */
export async function claimFileWork(db: Db, table: TableWithFiles, options: ClaimOptions): Promise<FileWork[]> {
  const candidates = db
    .selectFrom(table)
    .select('seq')
    .where('step', '=', sql.lit('files'))
    .orderBy('next_attempt_at')
    .orderBy('seq')
  const rows = await withDue(db, candidates, options)
    .updateTable(table)
    .set(newLease(options))
    .where('seq', 'in', ({ selectFrom }) => selectFrom('due').select('due.seq'))
    .returning(['seq', 'id', 'request_id', 'collection_id', 'metadata', 'attempts', 'next_attempt_at', 'generation'])
    .execute()
  return rows.map((row) => ({ ...row, table }))
}

/**
 * Schedules another attempt to fetch the files of a row.
 *
 * @param options.error the error of the last attempt; if omitted, the stored error is kept
 */
export async function postponeFiles(
  db: Db,
  claimed: Pick<FileWork, 'table' | 'seq' | 'generation'>,
  { attempts, nextAttemptAt, error }: { attempts: number; nextAttemptAt: number; error?: string },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable(claimed.table)
    .set({ attempts, next_attempt_at: nextAttemptAt, lease_until: 0, error })
    .where('seq', '=', claimed.seq)
    .where('generation', '=', claimed.generation)
    .where('step', '=', 'files')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Steps of NFTs that aren't minted yet. */
export const UNFINISHED_STEPS = ['files', 'mint', 'chain'] as const

/**
 * Filters by collection in a query that also filters by step. The index of a step contains only unfinished NFTs. The
 * concatenation hides the collection from the planner, which would otherwise read all NFTs of the collection, including
 * deployed ones. There can be a million of them.
 */
export const UNINDEXED_COLLECTION_ID = sql<string>`collection_id || ''`

/**
 * Returns the NFTs of a collection's next bundle, oldest first.
 *
 * @param options.after only NFTs with a higher `seq`
 * @param options.only only NFTs of this run
 * @param options.except excludes NFTs of these runs
 */
export async function listMintable(
  db: Db,
  collectionId: string,
  limit: number,
  { after = 0, only, except = [] }: { after?: number; only?: string; except?: readonly string[] } = {},
) {
  return db
    .selectFrom('nfts')
    .select(['seq', 'id', 'request_id', 'sender', 'receiver', 'dynamic', 'metadata', 'files'])
    .where('collection_id', '=', collectionId)
    .where('step', '=', sql.lit('mint'))
    .$if(after > 0, (query) => query.where('seq', '>', after))
    .$if(only !== undefined, (query) => query.where(sql<boolean>`${RUN_OF_NFT_SQL} = ${only}`))
    .$if(except.length > 0, (query) => query.where(sql<boolean>`${RUN_OF_NFT_SQL} not in (${sql.join(except)})`))
    .orderBy('seq')
    .limit(limit)
    .execute()
}

/**
 * SQL for the run of an NFT, or an empty string. Uses a lookup for each NFT instead of a join, which could read all
 * requests.
 */
const RUN_OF_NFT_SQL = sql`coalesce((select run from requests where requests.id = nfts.request_id), '')`

/** Returns the number of NFTs of a collection that aren't minted yet. */
export async function countPending(db: Db, collectionId: string): Promise<number> {
  let pending = 0
  for (const step of UNFINISHED_STEPS) {
    const { count } = await db
      .selectFrom('nfts')
      .select(({ fn }) => fn.countAll().as('count'))
      .where('step', '=', sql.lit(step))
      .where(UNINDEXED_COLLECTION_ID, '=', collectionId)
      .executeTakeFirstOrThrow()
    pending += Number(count)
  }
  return pending
}

/** Returns whether NFTs of a collection still wait for their files. */
export async function hasWaitingFiles(db: Db, collectionId: string): Promise<boolean> {
  const row = await db
    .selectFrom('nfts')
    .select('seq')
    .where('step', '=', sql.lit('files'))
    .where(UNINDEXED_COLLECTION_ID, '=', collectionId)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Returns collections of a blockchain with NFTs that wait for a bundle. Needs one index lookup for each collection.
 * DISTINCT would read an index entry for each NFT, which takes 50 ms for a million NFTs.
 */
export async function collectionsWithMintable(db: Db, blockchain: Blockchain): Promise<string[]> {
  // With statistics of only a few NFTs, SQLite would use the index of all NFTs.
  const waiting = isPostgres(db) ? sql`nfts` : sql`nfts indexed by nfts_mint_due`
  const { rows } = await sql<{ id: string }>`
    with recursive waiting (id) as (
      select min(collection_id) from ${waiting} where step = 'mint'
      union all
      select (select min(collection_id) from ${waiting} where step = 'mint' and collection_id > waiting.id)
      from waiting where waiting.id is not null
    ) select waiting.id from waiting cross join collections
      where collections.id = waiting.id and collections.blockchain = ${blockchain}`.execute(db)
  return rows.map((row) => row.id)
}

/** A group of NFTs of one request that are accepted but have no mint transaction yet. */
export interface WaitingMint {
  collection_id: string
  run: string | null
  sender: string | null
  dynamic: number
  count: number
}

/** Maximum number of NFTs in a step whose cost is computed. */
const MAX_COUNTED_PER_STEP = 10_000

/**
 * Counts the NFTs of a blockchain that have no mint transaction yet, by request. Counts at most 10,000 NFTs of each
 * step.
 */
export async function listWaitingMints(db: Db, blockchain: Blockchain): Promise<WaitingMint[]> {
  const mints: WaitingMint[] = []
  for (const step of ['files', 'mint'] as const) {
    const rows = await db
      .selectFrom((from) =>
        from
          .selectFrom('nfts')
          .innerJoin('collections', 'collections.id', 'nfts.collection_id')
          .select(['nfts.request_id', 'nfts.collection_id', 'nfts.sender', 'nfts.dynamic'])
          .where('nfts.step', '=', sql.lit(step))
          .where('collections.blockchain', '=', blockchain)
          .limit(MAX_COUNTED_PER_STEP)
          .as('waiting'),
      )
      .leftJoin('requests', 'requests.id', 'waiting.request_id')
      .select(({ fn }) => [
        'waiting.collection_id',
        'requests.run',
        'waiting.sender',
        'waiting.dynamic',
        fn.countAll().as('count'),
      ])
      .groupBy(['waiting.request_id', 'waiting.collection_id', 'requests.run', 'waiting.sender', 'waiting.dynamic'])
      .execute()
    mints.push(...rows.map((row) => ({ ...row, count: Number(row.count) })))
  }
  return mints
}

/** Increments the revert count of each NFT in the bundle. */
export async function incrementReverts(db: Db, transactionId: string): Promise<void> {
  await db
    .updateTable('nfts')
    .set((nft) => ({ attempts: nft('attempts', '+', 1) }))
    .where('transaction_id', '=', transactionId)
    .where('step', '=', 'chain')
    .execute()
}

/** Returns the highest revert count among the NFTs of a bundle. */
export async function maxReverts(db: Db, transactionId: string): Promise<number> {
  const row = await db
    .selectFrom('nfts')
    .select(({ fn }) => fn.max('attempts').as('most'))
    .where('transaction_id', '=', transactionId)
    .where('step', '=', sql.lit('chain'))
    .executeTakeFirst()
  return row?.most ?? 0
}

/** Returns the time when the earliest fetch becomes due; null if there is none. */
export async function readNextFilesDueAt(db: Db, table: TableWithFiles): Promise<number | null> {
  const row = await db
    .selectFrom(table)
    .select(({ fn }) => fn.min('next_attempt_at').as('at'))
    .where('step', '=', sql.lit('files'))
    .executeTakeFirst()
  return row?.at ?? null
}

type DirectoryNft = Pick<NftRow, 'id' | 'metadata' | 'files'> & { batch_index: number }

/** Returns the NFTs of a Solana collection that have a metadata file in a directory, in the order of the files. */
export async function listNftsOfDirectory(db: Db, collectionId: string, directory: string): Promise<DirectoryNft[]> {
  const those = (condition: RawBuilder<unknown>) => sql<DirectoryNft>`
    select nfts.id, nfts.metadata, nfts.files, nfts.batch_index from transactions cross join nfts
    where transactions.collection_id = ${collectionId} and transactions.directory = ${directory}
      and nfts.transaction_id = transactions.id and ${condition}`
  // No index has the transactions of all NFTs. Therefore use the tokens of minted NFTs, the index of pending NFTs, and
  // the small index of failed NFTs.
  const pending = sql`nfts.step = 'chain'`
  const minted = sql`nfts.collection_id = ${collectionId} and nfts.token_id = transactions.mint`
  const failed = sql`nfts.collection_id = ${collectionId} and nfts.status = 'failed' and nfts.token_id is null`
  // Read pending NFTs first. An NFT that is settled in the meantime is read twice, but stored in the map once.
  const nfts = new Map<string, DirectoryNft>()
  for (const condition of [pending, minted, failed]) {
    for (const nft of (await those(condition).execute(db)).rows) nfts.set(nft.id, nft)
  }
  return [...nfts.values()].sort((a, b) => a.batch_index - b.batch_index)
}

/** Returns the pending NFT that a transaction mints. */
export async function findNftOfTransaction(db: Db, transactionId: string): Promise<NftRow | null> {
  const row = await db
    .selectFrom('nfts')
    .selectAll()
    .where('transaction_id', '=', transactionId)
    .where('step', '=', sql.lit('chain'))
    .executeTakeFirst()
  return row ?? null
}

/**
 * Changes the transaction that mints pending NFTs, or the index of their metadata file in the transaction's directory.
 */
export async function updateSignedNfts(
  db: Db,
  transactionId: string,
  changes: { transaction_id: string } | { batch_index: number },
): Promise<void> {
  await db
    .updateTable('nfts')
    .set(changes)
    .where('transaction_id', '=', transactionId)
    .where('step', '=', sql.lit('chain'))
    .execute()
}
