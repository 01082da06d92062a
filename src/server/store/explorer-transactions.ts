import { sql } from 'kysely'
import { firstSeqInBucket } from './explorer-counts.ts'
import type { Db } from './schema.ts'
import type { TransactionRow } from './transactions.ts'

const LIST_COLUMNS = [
  ...(['id', 'blockchain', 'kind', 'hash', 'state', 'block_number', 'gas_used'] as const),
  ...(['created_at', 'token_count', 'collection_id', 'start_id', 'mint'] as const),
] as const

/** The fields of a transaction that the web explorer shows. */
export type ExplorerTransaction = Pick<TransactionRow, (typeof LIST_COLUMNS)[number]>

type TransactionQuery = { by: 'id'; ids: readonly string[] } | { by: 'hash' | 'directory'; text: string }

/** Returns transactions by ID, hash or directory, oldest first. */
export async function findTransactions(db: Db, find: TransactionQuery, limit = 100): Promise<ExplorerTransaction[]> {
  if (find.by === 'id' && find.ids.length === 0) return []
  const select = db.selectFrom('transactions').select(LIST_COLUMNS)
  const query = find.by === 'id' ? select.where('id', 'in', find.ids) : select.where(find.by, '=', find.text)
  return await query.orderBy('created_at').limit(limit).execute()
}

/**
 * Returns the ID of the transaction with a signed attempt that has this hash; null if there is none. A transaction that
 * was signed several times can be found by each of its hashes.
 */
export async function findTransactionIdByHash(db: Db, hash: string): Promise<string | null> {
  const row = await db
    .selectFrom('transaction_attempts')
    .select('transaction_id')
    .where('hash', '=', hash)
    .executeTakeFirst()
  return row?.transaction_id ?? null
}

const CHANGE_TABLES = ['transfers', 'updates'] as const

/** Returns the transactions of an NFT's requested transfers, updates, freezes and burns. */
export async function listChangeTransactionIds(db: Db, nftId: string): Promise<string[]> {
  const ids: string[] = []
  for (const table of CHANGE_TABLES) {
    const rows = await db
      .selectFrom(table)
      .select('transaction_id')
      .where('nft_id', '=', nftId)
      .where('transaction_id', 'is not', null)
      .orderBy('seq')
      .limit(100)
      .execute()
    ids.push(...rows.flatMap((row) => row.transaction_id ?? []))
  }
  return ids
}

/** Returns the NFTs that a transaction or a request transferred, updated, froze or burned. */
export async function listChangedNftIds(db: Db, by: 'transaction_id' | 'id', id: string): Promise<string[]> {
  const ids: string[] = []
  for (const table of CHANGE_TABLES) {
    const rows = await db.selectFrom(table).select('nft_id').where(by, '=', id).limit(50).execute()
    ids.push(...rows.flatMap((row) => row.nft_id ?? []))
  }
  return ids
}

/**
 * Returns the gas used by a collection's deployment, mints, transfers, burns and updates, as decimal digits. Freezes
 * and commitments aren't counted.
 */
export async function sumGasOfCollection(db: Db, collectionId: string): Promise<string> {
  const { rows } = await sql<{ gas: number | string | null }>`
    select sum(gas) as gas from (
      select sum(cast(gas_used as bigint)) as gas from transactions
        where collection_id = ${collectionId} and gas_used is not null
      union all
      select sum(cast(gas_used as bigint)) as gas from transactions where id in (
        select transaction_id from transfers where collection_id = ${collectionId} and transaction_id is not null)
      union all
      select sum(cast(gas_used as bigint)) as gas from transactions where id in (
        select transaction_id from updates where collection_id = ${collectionId} and revision is not null)
    ) as all_gas`.execute(db)
  return String(rows[0]?.gas ?? 0)
}

/** Counts signed transactions that aren't final. */
export async function countPendingTransactions(db: Db, accountId: string | null): Promise<number> {
  const ownCollections = sql`select id from collections where account_id = ${accountId}`
  // A cross join fixes the order of tables in SQLite. SQLite then starts with the only transfer instead of the
  // account's collections.
  const ownTransfer = sql`select 1 from transfers cross join collections
    where transfers.transaction_id = transactions.id and collections.id = transfers.collection_id
      and collections.account_id = ${accountId}`
  const ownUpdate = sql`select 1 from updates cross join collections
    where updates.transaction_id = transactions.id and collections.id = updates.collection_id
      and collections.account_id = ${accountId}`
  const ofAccount =
    accountId === null
      ? sql``
      : sql` and (collection_id in (${ownCollections}) or exists (${ownTransfer}) or exists (${ownUpdate}))`
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from transactions where state = 'signed'${ofAccount}`.execute(db)
  return Number(rows[0]?.count ?? 0)
}

/**
 * Returns the transactions that mint a run's NFTs in one bucket of its collection, each with the number of the run's
 * NFTs that it mints.
 */
export async function listTransactionsOfBucket(
  db: Db,
  { collectionId, run, bucket }: { collectionId: string; run: string; bucket: number },
): Promise<{ id: string; count: number }[]> {
  const [first, end] = [firstSeqInBucket(bucket), firstSeqInBucket(bucket + 1)]
  // Select and limit rows before the join. Otherwise, PostgreSQL reads all NFTs if its statistics are from when the
  // table had few NFTs.
  const page = db
    .selectFrom('nfts')
    .select(['transaction_id', 'request_id'])
    .where('collection_id', '=', collectionId)
    .where('seq', '>=', first)
    .where('seq', '<', end)
    .orderBy('seq')
    .limit(end - first)
    .as('page')
  const rows = await db
    .selectFrom(page)
    .innerJoin('requests', 'requests.id', 'page.request_id')
    .select(({ fn }) => ['page.transaction_id as id', fn.countAll<number>().as('count')])
    .where('page.transaction_id', 'is not', null)
    .where('requests.run', '=', run)
    .groupBy('page.transaction_id')
    .execute()
  return rows.flatMap(({ id, count }) => (id === null ? [] : [{ id, count: Number(count) }]))
}
