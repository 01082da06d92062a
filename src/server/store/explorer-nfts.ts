import { type RawBuilder, sql } from 'kysely'
import { isPostgres } from './dialect.ts'
import { firstSeqInBucket, visibleTo } from './explorer-counts.ts'
import { currentValueSql, type NftRow } from './nfts.ts'
import type { Db, NftStatus } from './schema.ts'

/** Maximum length of metadata that is read together with a list of NFTs. Longer metadata is read separately. */
const MAX_INLINE_LENGTH = 16_384

const SUMMARY_COLUMNS = [
  'seq',
  'id',
  'collection_id',
  'token_id',
  'status',
  'error',
  'owner',
  'receiver',
  'update_id',
] as const

const SUMMARY_SQL = sql`${sql.join(SUMMARY_COLUMNS.map((column) => sql.ref(`nfts.${column}`)))}, ${currentValueSql('files')} as files,
  case when octet_length(${currentValueSql('metadata')}) <= ${sql.lit(MAX_INLINE_LENGTH)} then ${currentValueSql('metadata')} end as metadata`

export interface SummaryRow extends Pick<NftRow, (typeof SUMMARY_COLUMNS)[number] | 'files'> {
  /** The metadata; null if it is longer than `MAX_INLINE_LENGTH`. */
  metadata: string | null
}

const selectSummaries = (where: RawBuilder<unknown>, from: RawBuilder<unknown> = sql`nfts`) =>
  sql<SummaryRow>`select ${SUMMARY_SQL} from ${from} ${where}`

const statusIs = (status: NftStatus | null) => (status === null ? sql`` : sql` and nfts.status = ${sql.lit(status)}`)

/**
 * Returns the condition for positions of a collection, from `from` to `end` (exclusive). PostgreSQL needs a row
 * comparison, because only the collection's own index has that order. With an equality, PostgreSQL would scan all NFTs
 * in order until it found enough NFTs of this collection. This scan takes a third of a second if the collection follows
 * a million other NFTs.
 */
const positionCondition = (db: Db, collectionId: string, { from = 0, end = Number.MAX_SAFE_INTEGER }) =>
  isPostgres(db)
    ? sql`(nfts.collection_id, nfts.seq) >= (${collectionId}, ${from})
        and (nfts.collection_id, nfts.seq) < (${collectionId}, ${end})`
    : sql`nfts.collection_id = ${collectionId} and nfts.seq >= ${from} and nfts.seq < ${end}`

const ORDER_ASCENDING = sql`order by nfts.collection_id, nfts.seq`
const ORDER_DESCENDING = sql`order by nfts.collection_id desc, nfts.seq desc`

/** Returns the NFTs in some buckets of a collection, or of one of its runs, in the order of acceptance. */
export async function listNftsOfBuckets(
  db: Db,
  filter: { collectionId: string; run: string | null; first: number; last: number; status: NftStatus | null },
  { offset, limit }: { offset: number; limit: number },
): Promise<SummaryRow[]> {
  const { collectionId, run, first, last, status } = filter
  const ofRun =
    run === null
      ? sql``
      : sql` and exists (select 1 from requests where requests.id = nfts.request_id and requests.run = ${run} limit 1)`
  const { rows } = await selectSummaries(sql`
    where ${positionCondition(db, collectionId, { from: firstSeqInBucket(first), end: firstSeqInBucket(last + 1) })}${statusIs(status)}${ofRun}
    ${ORDER_ASCENDING} limit ${limit} offset ${offset}`).execute(db)
  return rows
}

/** Returns the first NFTs of each of these collections. */
export async function firstNfts(db: Db, collectionIds: readonly string[], count: number): Promise<SummaryRow[]> {
  if (collectionIds.length === 0) return []
  const partOf = (id: string) =>
    sql`select * from (${selectSummaries(sql`where ${positionCondition(db, id, {})} ${ORDER_ASCENDING} limit ${sql.lit(count)}`)}) as part`
  const { rows } = await sql<SummaryRow>`${sql.join(collectionIds.map(partOf), sql` union all `)}`.execute(db)
  return rows
}

/** Returns the last accepted NFTs of these collections, or of all collections. */
export async function lastNfts(db: Db, collectionIds: readonly string[] | null, count: number): Promise<SummaryRow[]> {
  if (collectionIds === null) {
    // Without this hint, SQLite would sort all NFTs if its statistics are from when the table had few NFTs.
    const from = isPostgres(db) ? sql`nfts` : sql`nfts not indexed`
    return (await selectSummaries(sql`order by nfts.seq desc limit ${sql.lit(count)}`, from).execute(db)).rows
  }
  if (collectionIds.length === 0) return []
  const partOf = (id: string) =>
    sql`select * from (${selectSummaries(sql`where ${positionCondition(db, id, {})} ${ORDER_DESCENDING} limit ${sql.lit(count)}`)}) as part`
  const { rows } = await sql<SummaryRow>`
    select * from (${sql.join(collectionIds.map(partOf), sql` union all `)}) as parts
    order by seq desc limit ${sql.lit(count)}`.execute(db)
  return rows
}

/** Returns the NFTs at these positions, regardless of their account. */
export async function listNftsAt(db: Db, seqs: readonly number[]): Promise<SummaryRow[]> {
  if (seqs.length === 0) return []
  return (await selectSummaries(sql`where nfts.seq in (${sql.join(seqs)}) order by nfts.seq`).execute(db)).rows
}

/** Returns the NFTs with these IDs, regardless of their account. */
export async function nftsById(db: Db, ids: readonly string[]): Promise<SummaryRow[]> {
  if (ids.length === 0) return []
  return (await selectSummaries(sql`where nfts.id in (${sql.join(ids)}) order by nfts.seq`).execute(db)).rows
}

/**
 * Returns the NFTs that an address owns in a collection, in the order of acceptance. Skips the NFTs before the page in
 * the index, which has their positions. On PostgreSQL, the condition is a row comparison, because an equality would
 * make PostgreSQL scan NFTs of other collections.
 */
export async function listOwnedNfts(
  db: Db,
  { collectionId, owner }: { collectionId: string; owner: string },
  { offset, limit }: { offset: number; limit: number },
): Promise<SummaryRow[]> {
  const theirs = isPostgres(db)
    ? sql`(collection_id, owner, seq) >= (${collectionId}, ${owner}, 0)
        and (collection_id, owner, seq) < (${collectionId}, ${owner}, ${Number.MAX_SAFE_INTEGER}) and owner is not null`
    : sql`collection_id = ${collectionId} and owner = ${owner}`
  const page = sql`select seq from nfts where ${theirs} order by collection_id, owner, seq limit ${limit} offset ${offset}`
  // A cross join fixes the order of tables in SQLite, even if its statistics are wrong.
  const from = sql`(${page}) as page cross join nfts`
  return (await selectSummaries(sql`where nfts.seq = page.seq order by nfts.seq`, from).execute(db)).rows
}

/**
 * Counts the NFTs that an address owns in each collection that an account may see, newest collection first. Omits
 * collections in which the address owns nothing.
 */
export async function countOwnedByCollection(db: Db, accountId: string | null, owner: string) {
  const { rows } = await sql<{ id: string; count: number }>`
    select id, count from (
      select collections.id,
        (select count(*) from nfts where nfts.collection_id = collections.id and nfts.owner = ${owner}) as count
      from collections where ${visibleTo(accountId)}
    ) as owned where count > 0 order by id desc`.execute(db)
  return rows.map((row) => ({ id: row.id, count: Number(row.count) }))
}

export async function countOwnedInCollection(db: Db, collectionId: string, owner: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from nfts where collection_id = ${collectionId} and owner = ${owner}`.execute(db)
  return Number(rows[0]?.count ?? 0)
}

/** Counts the NFTs of a run that an address owns. */
export async function countOwnedInRun(
  db: Db,
  { collectionId, run, owner }: { collectionId: string; run: string; owner: string },
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from nfts join requests on requests.id = nfts.request_id
      where nfts.collection_id = ${collectionId} and nfts.owner = ${owner} and requests.run = ${run}`.execute(db)
  return Number(rows[0]?.count ?? 0)
}

/** Returns the metadata of an NFT, of any length. */
export async function metadataAt(db: Db, seq: number): Promise<string> {
  const { rows } = await sql<{ metadata: string }>`
    select ${currentValueSql('metadata')} as metadata from nfts where nfts.seq = ${seq}`.execute(db)
  const [row] = rows
  if (row === undefined) throw new Error(`no NFT at ${seq}`)
  return row.metadata
}

/** Returns an NFT that an account may see, with the request that created it. */
export async function findVisibleNft(db: Db, accountId: string | null, id: string) {
  return await db
    .selectFrom('nfts')
    .innerJoin('collections', 'collections.id', 'nfts.collection_id')
    .innerJoin('requests', 'requests.id', 'nfts.request_id')
    .selectAll('nfts')
    .select(['requests.accepted_at', 'requests.run', 'collections.dynamic as collection_dynamic'])
    .select([
      sql<string>`${currentValueSql('metadata')}`.as('present_metadata'),
      sql<string | null>`${currentValueSql('files')}`.as('present_files'),
    ])
    .where('nfts.id', '=', id)
    .where(visibleTo(accountId))
    .executeTakeFirst()
}

/** Returns the IDs of the previous and the next NFT in a collection; null if there is none. */
export async function neighbors(db: Db, { collection_id, seq }: { collection_id: string; seq: number }) {
  const neighbor = async (part: { from?: number; end?: number }, order: RawBuilder<unknown>) => {
    const { rows } = await sql<{ id: string }>`
      select nfts.id from nfts where ${positionCondition(db, collection_id, part)} ${order} limit 1`.execute(db)
    return rows[0]?.id ?? null
  }
  return {
    previous: await neighbor({ end: seq }, ORDER_DESCENDING),
    next: await neighbor({ from: seq + 1 }, ORDER_ASCENDING),
  }
}

/** Returns the NFTs with these token IDs in a collection. */
export async function listNftsByTokenId(
  db: Db,
  collectionId: string,
  tokenIds: readonly string[],
): Promise<SummaryRow[]> {
  if (tokenIds.length === 0) return []
  const { rows } = await selectSummaries(sql`
    where nfts.collection_id = ${collectionId} and nfts.token_id in (${sql.join(tokenIds)})
    order by nfts.seq`).execute(db)
  return rows
}

/** Returns the NFTs that a pending transaction mints. */
export async function listNftsOfPendingTransaction(
  db: Db,
  transactionId: string,
  limit: number,
): Promise<SummaryRow[]> {
  const { rows } = await selectSummaries(sql`
    where nfts.transaction_id = ${transactionId} and nfts.step = 'chain' order by nfts.seq limit ${limit}`).execute(db)
  return rows
}

/** Returns the failed NFTs of a run that were accepted after the given position, in order, with their errors. */
export async function listFailedNftsAfter(
  db: Db,
  { collectionId, run, after }: { collectionId: string; run: string; after: number },
  limit: number,
) {
  return await db
    .selectFrom('nfts')
    .innerJoin('requests', 'requests.id', 'nfts.request_id')
    .select(['nfts.seq', 'nfts.id', 'nfts.error'])
    // Equalities make PostgreSQL use the small index of failed NFTs.
    .where('nfts.collection_id', '=', collectionId)
    .where('nfts.seq', '>', after)
    .where('nfts.status', '=', sql.lit('failed'))
    .where('requests.run', '=', run)
    .orderBy('nfts.collection_id')
    .orderBy('nfts.seq')
    .limit(limit)
    .execute()
}
