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
 * The next owner of a collection's NFTs after another, in the order of the index: a step for each owner, however many
 * NFTs each has.
 */
export async function ownersAfter(db: Db, collectionId: string, last: string, limit: number): Promise<string[]> {
  const { rows } = await sql<{ owner: string }>`
    with recursive owners (owner, number) as (
      select (select min(owner) from nfts where collection_id = ${collectionId} and owner > ${last}), 1
      union all
      select (select min(owner) from nfts where collection_id = ${collectionId} and nfts.owner > owners.owner), number + 1
      from owners where owners.owner is not null and number < ${sql.lit(limit)}
    ) select owner from owners where owner is not null`.execute(db)
  return rows.map((row) => row.owner)
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
