import { sql } from 'kysely'
import type { Blockchain } from '../../api/blockchains.ts'
import type { Db } from './schema.ts'

/**
 * Counts the NFTs of a collection whose metadata contains a file's URL, and that are pending or whose mint a reorg can
 * remove. Reads only NFTs of these two kinds.
 *
 * @param of.url the file's URL, without SQL wildcards
 */
export async function countUnfinalNftsWithUrl(
  db: Db,
  { collectionId, blockchain, url }: { collectionId: string; blockchain: Blockchain; url: string },
): Promise<number> {
  const containsUrl = sql`nfts.metadata like ${`%"${url}"%`}`
  // These expressions prevent plans that read all NFTs of the collection. Databases choose such plans without
  // statistics.
  const { rows } = await sql<{ count: number | string }>`
    select count(*) as count from nfts where step = 'files' and collection_id || '' = ${collectionId} and ${containsUrl}
    union all
    select count(*) from nfts where step = 'mint' and collection_id = ${collectionId} and ${containsUrl}
    union all
    select coalesce(sum((
      select count(*) from nfts where nfts.transaction_id = transactions.id and nfts.step = 'chain' and ${containsUrl}
    )), 0) from transactions where collection_id = ${collectionId} and state = 'signed'`.execute(db)
  const pending = rows.reduce((sum, { count }) => sum + Number(count), 0)
  return pending + (await countWatchedNfts(db, { collectionId, blockchain }, containsUrl))
}

async function countWatchedNfts(
  db: Db,
  { collectionId, blockchain }: { collectionId: string; blockchain: Blockchain },
  containsUrl: ReturnType<typeof sql>,
): Promise<number> {
  const watchedTransactions = await db
    .selectFrom('transactions')
    .select(['start_id', 'token_count'])
    .where('blockchain', '=', blockchain)
    .where('watched', '=', sql.lit(1))
    .where('collection_id', '=', collectionId)
    .where('start_id', 'is not', null)
    .execute()
  let count = 0
  for (const { start_id, token_count } of watchedTransactions) {
    const tokens = Array.from({ length: Number(token_count) }, (_, at) => String(BigInt(start_id ?? 0) + BigInt(at)))
    const row = await db
      .selectFrom('nfts')
      .select(({ fn }) => fn.countAll().as('count'))
      .where('collection_id', '=', collectionId)
      .where('token_id', 'in', tokens)
      .where(sql<boolean>`${containsUrl}`)
      .executeTakeFirst()
    count += Number(row?.count ?? 0)
  }
  return count
}
