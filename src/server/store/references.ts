import { type Selectable, sql } from 'kysely'
import { ZERO_ADDRESS } from '../../api/address.ts'
import type { CreatingEndpoint } from '../../api/endpoints.ts'
import { isPostgres } from './dialect.ts'
import type { Db, OperationReferencesTable } from './schema.ts'

/** The scope in which a reference ID is unique. */
export type ReferenceScope = Pick<Selectable<OperationReferencesTable>, 'scope_id' | 'operation'>

/** A reference ID, and the operation that it will refer to. */
export type NewReference = Pick<Selectable<OperationReferencesTable>, 'reference_id' | 'digest' | 'target_id'> &
  Partial<Pick<Selectable<OperationReferencesTable>, 'label' | 'kind'>>

/** A reference ID that was derived from the content of the client's row. */
export type ContentReference = Pick<
  Selectable<OperationReferencesTable>,
  'reference_id' | 'target_id' | 'digest' | 'label' | 'alias'
>

/** A reference ID, and the operation that it refers to. */
export interface KnownReference extends NewReference, Partial<Pick<ContentReference, 'alias'>> {
  status: string
  accepted_at: number
}

/** Returns whether an endpoint creates NFTs. If so, its requests can have a list of reference IDs, one for each NFT. */
export const createsNfts = (operation: CreatingEndpoint): boolean => TARGET_TABLES[operation] === 'nfts'

/** Tables of operations with reference IDs. */
const TARGET_TABLES: Readonly<Record<CreatingEndpoint, string>> = {
  createnft: 'nfts',
  createnfttrans: 'nfts',
  transfernft: 'transfers',
  creatednft: 'nfts',
  updatednft: 'updates',
  freezenft: 'updates',
  burnnft: 'transfers',
  commitprovenance: 'updates',
  createcollection: 'collections',
}

/**
 * Claims the reference IDs that are free, and returns those IDs. If another process is claiming one of the IDs, waits
 * for its commit.
 */
export async function addReferences(
  db: Db,
  scope: ReferenceScope,
  references: readonly NewReference[],
): Promise<Set<string>> {
  const rows = await db
    .insertInto('operation_references')
    .values(references.map((reference) => ({ ...scope, ...reference })))
    .onConflict((conflict) => conflict.columns(['scope_id', 'operation', 'reference_id']).doNothing())
    .returning('reference_id')
    .execute()
  return new Set(rows.map(({ reference_id }) => reference_id))
}

/** Returns the operations of reference IDs in no particular order. Omits unknown IDs. */
export async function findReferences(
  db: Db,
  { scope_id, operation }: ReferenceScope,
  ids: readonly string[],
): Promise<KnownReference[]> {
  // Use left joins. Without statistics, SQLite would otherwise start with all NFTs.
  const { rows } = await sql<KnownReference>`
    select named.reference_id, named.digest, named.target_id, named.label, named.kind, named.alias,
      target.status, requests.accepted_at
    from operation_references as named
    left join ${sql.table(TARGET_TABLES[operation])} as target on target.id = named.target_id
    left join requests on requests.id = target.request_id
    where named.scope_id = ${scope_id} and named.operation = ${operation}
      and named.reference_id in (${sql.join(ids)})`.execute(db)
  return rows
}

/**
 * Moves a reference ID from a failed operation to another operation. Returns false if another process has already moved
 * it.
 */
export async function replaceReference(
  db: Db,
  { scope_id, operation }: ReferenceScope,
  { reference_id, digest, target_id, label = null, kind = null }: NewReference,
  failed: string,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('operation_references')
    .set({ digest, target_id, label, kind, alias: null })
    .where('scope_id', '=', scope_id)
    .where('operation', '=', operation)
    .where('reference_id', '=', reference_id)
    .where('target_id', '=', failed)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Replaces a label of reference IDs with another label, and returns the number of changed IDs. */
export async function replaceLabel(
  db: Db,
  { scope_id, operation }: ReferenceScope,
  ids: readonly string[],
  { from, to }: { from: string; to: string },
): Promise<number> {
  const { numUpdatedRows } = await db
    .updateTable('operation_references')
    .set({ label: to })
    .where('scope_id', '=', scope_id)
    .where('operation', '=', operation)
    .where('reference_id', 'in', ids)
    .where('label', '=', from)
    .executeTakeFirst()
  return Number(numUpdatedRows)
}

/** Returns the reference IDs of the given NFTs that were derived from content. */
export async function findContentReferences(
  db: Db,
  { scope_id, operation }: ReferenceScope,
  nfts: readonly string[],
): Promise<ContentReference[]> {
  const { rows } = await sql<ContentReference>`
    select reference_id, target_id, digest, label, alias from operation_references
    where kind = 'content' and target_id in (${sql.join(nfts)})
      and scope_id = ${scope_id} and operation = ${operation}`.execute(db)
  return rows
}

/** Records the alias of a reference ID that was derived from content. Returns false if the ID has another alias. */
export async function setAlias(
  db: Db,
  { scope_id, operation }: ReferenceScope,
  { reference_id, target_id }: Pick<ContentReference, 'reference_id' | 'target_id'>,
  alias: string,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('operation_references')
    .set({ alias })
    .where('scope_id', '=', scope_id)
    .where('operation', '=', operation)
    .where('reference_id', '=', reference_id)
    .where('target_id', '=', target_id)
    .where((row) => row.or([row('alias', 'is', null), row('alias', '=', alias)]))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** A reference ID that was derived from content and has no alias. */
export interface UnaliasedReference extends Pick<ContentReference, 'reference_id' | 'target_id'> {
  /** Whether the NFT exists; false if it failed or is burned. */
  exists: boolean
}

/** Returns the next reference IDs of a label that were derived from content and have no alias, ordered by ID. */
export async function listUnaliased(
  db: Db,
  { scope_id, operation }: ReferenceScope,
  label: string,
  { after, limit }: { after: string; limit: number },
): Promise<UnaliasedReference[]> {
  // Without statistics, SQLite would read all reference IDs of the collection.
  const listed = isPostgres(db)
    ? sql`operation_references as named`
    : sql`operation_references as named indexed by operation_references_unaliased`
  const { rows } = await sql<Omit<UnaliasedReference, 'exists'> & { status: string; owner: string | null }>`
    select named.reference_id, named.target_id, nfts.status, nfts.owner from ${listed}
    left join nfts on nfts.id = named.target_id
    where named.kind = 'content' and named.alias is null and named.scope_id = ${scope_id}
      and named.operation = ${operation} and named.label = ${label} and named.reference_id > ${after}
    order by named.reference_id limit ${limit}`.execute(db)
  return rows.map(({ status, owner, ...row }) => ({ ...row, exists: status !== 'failed' && owner !== ZERO_ADDRESS }))
}

/**
 * Returns the failed NFTs that may still have a token, because their transaction may have had an effect, or because
 * unknown tokens were found after the NFTs were accepted.
 */
export async function filterPossiblyMinted(db: Db, failed: readonly string[]): Promise<Set<string>> {
  if (failed.length === 0) return new Set()
  const { rows } = await sql<{ id: string }>`
    select nfts.id from nfts
    left join requests on requests.id = nfts.request_id
    left join transactions on transactions.id = nfts.transaction_id
    where nfts.id in (${sql.join(failed)}) and (
      transactions.state not in ('reverted', 'cancelled')
      or exists (select 1 from unknown_mints where unknown_mints.collection_id = nfts.collection_id
        and unknown_mints.found_at >= requests.accepted_at))`.execute(db)
  return new Set(rows.map(({ id }) => id))
}
