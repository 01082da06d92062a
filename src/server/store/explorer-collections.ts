import { sql } from 'kysely'
import { seenBy } from './explorer-counts.ts'
import type { Db } from './schema.ts'

const withTime = (db: Db, accountId: string | null) =>
  db
    .selectFrom('collections')
    .innerJoin('requests', 'requests.id', 'collections.request_id')
    .selectAll('collections')
    .select('requests.accepted_at')
    .where(seenBy(accountId))

export type SeenCollection = Awaited<ReturnType<typeof seenCollections>>[number]

/** Collections of these ids that an account may see, the newest first. */
export async function seenCollections(db: Db, accountId: string | null, ids: readonly string[]) {
  if (ids.length === 0) return []
  return await withTime(db, accountId).where('collections.id', 'in', ids).orderBy('collections.id', 'desc').execute()
}

/** What goes by an id or an address; several only where blockchains share an address. */
export async function collectionsNamed(
  db: Db,
  accountId: string | null,
  { id, address }: { id: string; address: string },
): Promise<SeenCollection[]> {
  const byId = await withTime(db, accountId).where('collections.id', '=', id).execute()
  if (byId.length > 0) return byId
  return await withTime(db, accountId)
    .where('collections.contract_address', '=', address)
    .orderBy('collections.id', 'desc')
    .execute()
}

/** Ids of collections that an account may see, the newest first. */
export async function collectionIds(
  db: Db,
  accountId: string | null,
  { offset, limit }: { offset: number; limit: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom('collections')
    .select('id')
    .where(seenBy(accountId))
    .orderBy('id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
  return rows.map((row) => row.id)
}

export async function countCollections(db: Db, accountId: string | null): Promise<number> {
  const { count } = await db
    .selectFrom('collections')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where(seenBy(accountId))
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Names of collections, the newest first. They are compared where letters of every script are known. */
export async function collectionNames(db: Db, accountId: string | null, limit: number) {
  return await db
    .selectFrom('collections')
    .select(['id', 'name', 'contract_address'])
    .where(seenBy(accountId))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

/**
 * How many different owners of a collection's NFTs come after one, by so many entries of the index, and the last of them;
 * null where there are no more. What else that one has is skipped by who goes on after it.
 */
export async function countOwnersAfter(db: Db, collectionId: string, last: string, entries: number) {
  const { rows } = await sql<{ count: number; last: string | null }>`
    select count(distinct owner) as count, max(owner) as last from (
      select owner from nfts where collection_id = ${collectionId} and owner > ${last}
      order by owner limit ${sql.lit(entries)}
    ) as part`.execute(db)
  return { count: Number(rows[0]?.count ?? 0), last: rows[0]?.last ?? null }
}

/** Accounts that have collections, the newest first. */
export async function accountsWithCollections(db: Db, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('accounts')
    .select('id')
    .where(({ exists, selectFrom }) =>
      exists(selectFrom('collections').select('collections.id').whereRef('collections.account_id', '=', 'accounts.id')),
    )
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
  return rows.map((row) => row.id)
}
