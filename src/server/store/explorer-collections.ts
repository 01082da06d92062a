import { sql } from 'kysely'
import { ZERO_ADDRESS } from '../../api/address.ts'
import { visibleTo } from './explorer-counts.ts'
import type { Db } from './schema.ts'

const withTime = (db: Db, accountId: string | null) =>
  db
    .selectFrom('collections')
    .innerJoin('requests', 'requests.id', 'collections.request_id')
    .selectAll('collections')
    .select('requests.accepted_at')
    .where(visibleTo(accountId))

export type VisibleCollection = Awaited<ReturnType<typeof listVisibleCollections>>[number]

/** Returns the collections with these IDs that an account may see, newest first. */
export async function listVisibleCollections(db: Db, accountId: string | null, ids: readonly string[]) {
  if (ids.length === 0) return []
  return await withTime(db, accountId).where('collections.id', 'in', ids).orderBy('collections.id', 'desc').execute()
}

/**
 * Finds collections by ID or address. Several collections have the same address only if they are on different
 * blockchains.
 */
export async function findVisibleCollections(
  db: Db,
  accountId: string | null,
  { id, address }: { id: string; address: string },
): Promise<VisibleCollection[]> {
  const byId = await withTime(db, accountId).where('collections.id', '=', id).execute()
  if (byId.length > 0) return byId
  return await withTime(db, accountId)
    .where('collections.contract_address', '=', address)
    .orderBy('collections.id', 'desc')
    .execute()
}

/** Returns the IDs of collections that an account may see, newest first. */
export async function collectionIds(
  db: Db,
  accountId: string | null,
  { offset, limit }: { offset: number; limit: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom('collections')
    .select('id')
    .where(visibleTo(accountId))
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
    .where(visibleTo(accountId))
    .executeTakeFirstOrThrow()
  return Number(count)
}

/**
 * Returns the names of collections, newest first. The caller compares the names in JavaScript, which supports the
 * letters of all scripts.
 */
export async function collectionNames(db: Db, accountId: string | null, limit: number) {
  return await db
    .selectFrom('collections')
    .select(['id', 'name', 'contract_address'])
    .where(visibleTo(accountId))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

/**
 * Counts the distinct owners of a collection's NFTs after the owner `last`, in a limited number of index entries. The
 * owner of burned NFTs isn't counted. Also returns the last owner that was read; null if there are no more owners. To
 * skip that owner's other tokens, the caller continues after this owner.
 */
export async function countOwnersAfter(db: Db, collectionId: string, last: string, entries: number) {
  const { rows } = await sql<{ count: number; last: string | null }>`
    select count(distinct nullif(owner, ${ZERO_ADDRESS})) as count, max(owner) as last from (
      select owner from nfts where collection_id = ${collectionId} and owner > ${last}
      order by owner limit ${sql.lit(entries)}
    ) as part`.execute(db)
  return { count: Number(rows[0]?.count ?? 0), last: rows[0]?.last ?? null }
}

/** Returns accounts that have collections, newest first. */
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
