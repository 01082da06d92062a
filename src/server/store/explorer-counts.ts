import { type Expression, type SqlBool, sql } from 'kysely'
import type { Db } from './schema.ts'

/**
 * Number of NFTs by state. Both `files` and `waiting` count initiated NFTs. The NFTs in `waiting` are signed or wait to
 * be signed.
 */
export interface StateCounts {
  files: number
  waiting: number
  deployed: number
  failed: number
}

/** Counts of consecutive NFTs in the order of acceptance. */
export interface BucketCounts extends StateCounts {
  bucket: number
}

export const ZERO_COUNTS: StateCounts = { files: 0, waiting: 0, deployed: 0, failed: 0 }

/** Returns the first `seq` of a bucket. The bucket ends before the first `seq` of the next bucket. */
export const firstSeqInBucket = (bucket: number): number => bucket * 4096

const SUM_COLUMNS = sql<StateCounts>`sum(files) as files, sum(waiting) as waiting,
  sum(deployed) as deployed, sum(failed) as failed`

/** Returns the counts as numbers, because PostgreSQL returns sums as text. */
const toCounts = (row: StateCounts): StateCounts => ({
  files: Number(row.files),
  waiting: Number(row.waiting),
  deployed: Number(row.deployed),
  failed: Number(row.failed),
})

/** Returns the counts of collections. Collections without NFTs are omitted. */
export async function readCollectionCounts(db: Db, ids: readonly string[]): Promise<Map<string, StateCounts>> {
  if (ids.length === 0) return new Map()
  const { rows } = await sql<StateCounts & { id: string }>`
    select collection_id as id, ${SUM_COLUMNS} from nft_counts where collection_id in (${sql.join(ids)})
    group by collection_id`.execute(db)
  return new Map(rows.map((row) => [row.id, toCounts(row)]))
}

/** Returns the counts of a collection, or of one of its runs, by bucket. Empty buckets are omitted. */
export async function listBuckets(
  db: Db,
  { collectionId, run }: { collectionId: string; run: string | null },
): Promise<BucketCounts[]> {
  const ofRun = run === null ? sql`` : sql` and run = ${run}`
  const { rows } = await sql<StateCounts & { bucket: number }>`
    select bucket, ${SUM_COLUMNS} from nft_counts where collection_id = ${collectionId}${ofRun}
    group by bucket order by bucket`.execute(db)
  return rows.map((row) => ({ bucket: Number(row.bucket), ...toCounts(row) }))
}

/** Returns the counts of runs, in the given order. */
export async function readRunCounts(
  db: Db,
  runs: readonly { collection_id: string; run: string }[],
): Promise<StateCounts[]> {
  if (runs.length === 0) return []
  const ofRun = ({ collection_id, run }: { collection_id: string; run: string }) =>
    sql`(collection_id = ${collection_id} and run = ${run})`
  const { rows } = await sql<StateCounts & { collection_id: string; run: string }>`
    select collection_id, run, ${SUM_COLUMNS} from nft_counts where ${sql.join(runs.map(ofRun), sql` or `)}
    group by collection_id, run`.execute(db)
  const counts = new Map(rows.map((row) => [`${row.collection_id} ${row.run}`, toCounts(row)]))
  return runs.map(({ collection_id, run }) => counts.get(`${collection_id} ${run}`) ?? ZERO_COUNTS)
}

/** Returns the condition for collections that an account may see. If `accountId` is null, all collections match. */
export const visibleTo = (accountId: string | null): Expression<SqlBool> =>
  accountId === null ? sql<SqlBool>`1 = 1` : sql<SqlBool>`collections.account_id = ${accountId}`

/** Counts collections by blockchain and status, and NFTs by blockchain. */
export async function countByBlockchain(db: Db, accountId: string | null) {
  const collections = await db
    .selectFrom('collections')
    .select(({ fn }) => ['blockchain', 'status', fn.countAll<number>().as('count')])
    .where(visibleTo(accountId))
    .groupBy(['blockchain', 'status'])
    .execute()
  const { rows } = await sql<StateCounts & { blockchain: string }>`
    select collections.blockchain, ${SUM_COLUMNS} from nft_counts
      join collections on collections.id = nft_counts.collection_id
    where ${visibleTo(accountId)} group by collections.blockchain`.execute(db)
  return {
    collections: collections.map((row) => ({ ...row, count: Number(row.count) })),
    nfts: rows.map((row) => ({ blockchain: row.blockchain, ...toCounts(row) })),
  }
}

/** Returns the IDs of the collections with the most recently accepted NFTs, latest first. */
export async function latestCollections(db: Db, accountId: string, limit: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select nft_counts.collection_id as id from nft_counts
      join collections on collections.id = nft_counts.collection_id
    where ${visibleTo(accountId)} group by nft_counts.collection_id
    order by max(nft_counts.bucket) desc limit ${sql.lit(limit)}`.execute(db)
  return rows.map((row) => row.id)
}

/**
 * Counts NFTs in bundles that aren't final. Their number is small, because the number of pending mint transactions is
 * limited.
 */
export async function countNftsInPendingBundles(db: Db, accountId: string | null): Promise<number> {
  // The concatenation prevents the planner from reading all NFTs of the account's collections.
  const ofAccount =
    accountId === null
      ? sql``
      : sql` and collection_id || '' in (select id from collections where account_id = ${accountId})`
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from nfts where step = 'chain'${ofAccount}`.execute(db)
  return Number(rows[0]?.count ?? 0)
}
