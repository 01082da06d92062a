import { sql } from 'kysely'
import type { Blockchain } from '../../api/blockchains.ts'
import type { CollectionRow } from './collections.ts'
import { isPostgres } from './dialect.ts'
import type { Db, UnknownUpdatesTable, UpdateKind } from './schema.ts'
import { reindexTitles } from './title-index.ts'

/** Returns the pending updates and freezes of NFTs, by NFT ID. */
export async function pendingUpdates(db: Db, nftIds: readonly string[]) {
  const rows = await db
    .selectFrom('updates')
    .select(['nft_id', 'kind', 'reference_id'])
    .where('nft_id', 'in', nftIds)
    .where('status', '=', sql.lit('initiated'))
    .execute()
  return new Map(rows.flatMap(({ nft_id, ...pending }) => (nft_id === null ? [] : [[nft_id, pending] as const])))
}

/**
 * Returns the collections of a blockchain that have updates to sign, and that have no pending transaction with updates.
 * Needs one index lookup for each collection.
 */
export async function collectionsToUpdate(db: Db, blockchain: Blockchain): Promise<string[]> {
  const waiting = isPostgres(db) ? sql`updates` : sql`updates indexed by updates_sign_due`
  const isDue = sql`step = 'sign' and blockchain = ${blockchain}`
  const { rows } = await sql<{ id: string }>`
    with recursive waiting (id) as (
      select min(collection_id) from ${waiting} where ${isDue}
      union all
      select (select min(collection_id) from ${waiting} where ${isDue} and collection_id > waiting.id)
      from waiting where waiting.id is not null
    ) select waiting.id from waiting where waiting.id is not null and not exists (
      select 1 from updates where updates.collection_id = waiting.id and updates.step = 'chain')`.execute(db)
  return rows.map(({ id }) => id)
}

/** Returns whether a transaction with updates of the collection is pending. */
export async function hasUpdateInFlight(db: Db, collectionId: string): Promise<boolean> {
  const row = await db
    .selectFrom('updates')
    .select('seq')
    .where('collection_id', '=', collectionId)
    .where('step', '=', sql.lit('chain'))
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Returns whether the collection has an update whose block a reorg can still remove. */
export async function hasUnfinalUpdate(
  db: Db,
  { id, blockchain }: Pick<CollectionRow, 'id' | 'blockchain'>,
): Promise<boolean> {
  const row = await db
    .selectFrom('transactions')
    .innerJoin('updates', 'updates.transaction_id', 'transactions.id')
    .select('updates.seq')
    .where('transactions.blockchain', '=', blockchain)
    .where('transactions.watched', '=', sql.lit(1))
    .where('updates.collection_id', '=', id)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

const UPDATE_COLUMNS = [
  ...(['updates.seq', 'updates.id', 'updates.request_id', 'updates.nft_id', 'updates.kind'] as const),
  ...(['updates.metadata', 'updates.files', 'updates.attempts'] as const),
  ...(['nfts.token_id', 'nfts.status as nft_status', 'nfts.owner', 'nfts.frozen', 'nfts.revision'] as const),
] as const

/**
 * Returns updates of a collection that wait to be signed, oldest first. Omits updates of NFTs whose mint a reorg
 * removed. Omits a freeze until the mints of its NFTs are final, because a reorg could give a token ID to another NFT,
 * which would then be frozen.
 *
 * @param of.except excludes updates of these runs
 */
export async function listSignableUpdates(
  db: Db,
  {
    blockchain,
    collectionId,
    except = [],
  }: { blockchain: Blockchain; collectionId: string; except?: readonly string[] },
  limit: number,
) {
  return await db
    .selectFrom('updates')
    .$if(except.length > 0, (query) => query.where(isOfOtherRuns(except)))
    .leftJoin('nfts', 'nfts.id', 'updates.nft_id')
    .select(UPDATE_COLUMNS)
    .where('updates.blockchain', '=', blockchain)
    .where('updates.collection_id', '=', collectionId)
    .where('updates.step', '=', sql.lit('sign'))
    .where(sql<boolean>`coalesce(nfts.status, '') <> 'initiated'`)
    .where(({ or, not, eb, exists, selectFrom }) =>
      or([
        eb('updates.kind', '<>', sql.lit('freeze')),
        not(
          exists(
            selectFrom('updates as frozen')
              .innerJoin('nfts as minted', 'minted.id', 'frozen.nft_id')
              .innerJoin('transactions', 'transactions.id', 'minted.transaction_id')
              .select('frozen.seq')
              .whereRef('frozen.id', '=', 'updates.id')
              .where('transactions.watched', '=', sql.lit(1)),
          ),
        ),
      ]),
    )
    .orderBy('updates.seq')
    .limit(limit)
    .execute()
}

/**
 * Matches an update if neither the update nor an earlier pending update of its NFT belongs to these runs. A reorg can
 * make several updates pending again.
 */
const isOfOtherRuns = (runs: readonly string[]) => sql<boolean>`
  coalesce((select run from requests where requests.id = updates.request_id), '') not in (${sql.join(runs)})
  and not exists (select 1 from updates earlier join requests on requests.id = earlier.request_id
    where earlier.nft_id = updates.nft_id and earlier.seq < updates.seq and earlier.status = 'initiated'
      and requests.run in (${sql.join(runs)}))`

/** An update with fields of its NFT, which are null for a commitment. */
export type UpdateWithNft = Awaited<ReturnType<typeof listSignableUpdates>>[number]

/** Returns the pending updates of a transaction. */
export async function listUpdatesOfTransaction(db: Db, transactionId: string): Promise<UpdateWithNft[]> {
  return await db
    .selectFrom('updates')
    .leftJoin('nfts', 'nfts.id', 'updates.nft_id')
    .select(UPDATE_COLUMNS)
    .where('updates.transaction_id', '=', transactionId)
    .where('updates.step', '=', sql.lit('chain'))
    .orderBy('updates.seq')
    .execute()
}

/** Returns the collection of a transaction with updates; null if it has none. */
export async function findCollectionOfUpdates(db: Db, transactionId: string): Promise<string | null> {
  const row = await db
    .selectFrom('updates')
    .select('collection_id')
    .where('transaction_id', '=', transactionId)
    .limit(1)
    .executeTakeFirst()
  return row?.collection_id ?? null
}

/**
 * Returns whether a reorg can still remove, or has removed, a dependency of a transaction with updates: the mints of
 * its tokens, or an earlier update of the collection.
 */
export async function updatesFollowUnfinal(
  db: Db,
  { id, blockchain, collectionId }: { id: string; blockchain: Blockchain; collectionId: string },
): Promise<boolean> {
  const unfinal = db
    .selectFrom('transactions')
    .where('blockchain', '=', blockchain)
    .where('id', '<>', id)
    .where(({ or, exists, selectFrom }) =>
      or([
        exists(
          selectFrom('updates')
            .select('seq')
            .whereRef('updates.transaction_id', '=', 'transactions.id')
            .where('updates.collection_id', '=', collectionId),
        ),
        exists(
          selectFrom('updates')
            .innerJoin('nfts', 'nfts.id', 'updates.nft_id')
            .select('updates.seq')
            .where('updates.transaction_id', '=', id)
            .whereRef('nfts.transaction_id', '=', 'transactions.id'),
        ),
      ]),
    )
    .select('id')
  const row = await unfinal
    .where('state', '=', sql.lit('signed'))
    .unionAll(unfinal.where('watched', '=', sql.lit(1)))
    .executeTakeFirst()
  return row !== undefined
}

/** Returns the pending metadata updates of tokens in a collection. */
export async function listUnsignedUpdates(db: Db, collectionId: string, tokenIds: readonly string[]) {
  return await db
    .selectFrom('nfts')
    .innerJoin('updates', 'updates.nft_id', 'nfts.id')
    .select([...UPDATE_COLUMNS, 'updates.step', 'nfts.id as nft'])
    .where('nfts.collection_id', '=', collectionId)
    .where('nfts.token_id', 'in', tokenIds)
    .where('updates.status', '=', sql.lit('initiated'))
    .where('updates.kind', '=', 'update' satisfies UpdateKind)
    .execute()
}

/**
 * Returns the block of a collection's last final update, or of its deployment. No later update can be in an earlier
 * block.
 */
export async function findBlockOfLastUpdate(
  db: Db,
  { id, transaction_id }: Pick<CollectionRow, 'id' | 'transaction_id'>,
): Promise<number> {
  const update = await db
    .selectFrom('updates')
    .select('transaction_id')
    .where('collection_id', '=', id)
    .where('revision', 'is not', null)
    .orderBy('revision', 'desc')
    .limit(1)
    .executeTakeFirst()
  const last = update?.transaction_id ?? transaction_id
  const transaction = db.selectFrom('transactions').select('block_number').where('id', '=', last)
  return Number((await transaction.executeTakeFirst())?.block_number ?? 0)
}

/** Records an on-chain update for which the database has no request, and sets the revision of its tokens. */
export async function recordUnknownUpdate(
  db: Db,
  unknownUpdate: Pick<UnknownUpdatesTable, 'sequence' | 'blockchain' | 'block_number' | 'transaction_hash'> & {
    collectionId: string
    directory: string
    tokenIds: readonly bigint[]
  },
): Promise<void> {
  const { collectionId, directory, tokenIds, ...update } = unknownUpdate
  const { sequence } = update
  await db
    .insertInto('unknown_updates')
    .values(tokenIds.map((tokenId) => ({ ...update, collection_id: collectionId, token_id: String(tokenId) })))
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  await setUnknownRevision(db, { collectionId, sequence, directory, tokenIds: tokenIds.map(String) })
}

/** Sets the revision of tokens whose last update is unknown. */
export async function setUnknownRevision(
  db: Db,
  unknown: { collectionId: string; sequence: number; directory: string; tokenIds: readonly string[] },
): Promise<void> {
  const { collectionId, sequence, directory, tokenIds } = unknown
  const nfts = await db
    .selectFrom('nfts')
    .select('id')
    .where('collection_id', '=', collectionId)
    .where('token_id', 'in', tokenIds)
    .where('revision', '<', sequence)
    .execute()
  const ids = nfts.map(({ id }) => id)
  const metadata_url = sql<string>`${`ipfs://${directory}/`} || token_id || '.json'`
  const changed = { revision: sequence, update_id: null, metadata_url }
  await reindexTitles(db, ids, () => db.updateTable('nfts').set(changed).where('id', 'in', ids).execute())
}

/** Returns the commitments of a collection with their transactions, oldest first. Omits failed commitments. */
export async function listCommitments(db: Db, collectionId: string) {
  const rows = await selectCommitments(db, collectionId)
    .select(['updates.metadata as provenance', 'updates.first_token_id', 'updates.status', 'updates.id'])
    .select(['updates.reference_id', 'updates.files as terms', 'updates.transaction_id'])
    .orderBy('updates.seq')
    .execute()
  const ids = rows.flatMap(({ transaction_id }) => transaction_id ?? [])
  // Use subqueries, because a join could read all transactions.
  const select = ['id', 'hash', 'block_number', 'watched'] as const
  const transactionRows =
    ids.length === 0 ? [] : await db.selectFrom('transactions').select(select).where('id', 'in', ids).execute()
  const transactions = new Map(transactionRows.map((row) => [row.id, row]))
  return rows.map(({ transaction_id, ...row }) => ({ ...row, transaction: transactions.get(transaction_id ?? '') }))
}

/**
 * Returns a collection's commitment to a hash, and when the commitment was accepted. Returns null if there is none, or
 * if it failed.
 */
export async function findCommitment(db: Db, collectionId: string, provenance: string) {
  const row = await selectCommitments(db, collectionId)
    .innerJoin('requests', 'requests.id', 'updates.request_id')
    .select(['updates.id as target_id', 'requests.accepted_at'])
    .where('updates.metadata', '=', provenance)
    .executeTakeFirst()
  return row ?? null
}

/** Returns the terms and hashes of a collection's commitments. Omits commitments without terms. */
export async function listCommitmentTerms(db: Db, collectionId: string) {
  const rows = await selectCommitments(db, collectionId)
    .select(['updates.metadata as provenance', 'updates.files', 'updates.status'])
    .where('updates.files', 'is not', null)
    .execute()
  return rows.map(({ files, ...row }) => ({ ...row, ...parseTerms(files) }))
}

/** The terms of a commitment for a shuffled drop: the margin of the drop, or the hash that the commitment seals. */
export type CommitmentTerms = { shuffle_margin: number } | { seal_of: string; leaves_url: string }

/** Parses the terms of a commitment. */
export const parseTerms = (terms: string | null): Partial<{ [Key in TermOf]: string } & { shuffle_margin: number }> =>
  terms === null ? {} : JSON.parse(terms)

type TermOf = 'seal_of' | 'leaves_url'

const selectCommitments = (db: Db, collectionId: string) =>
  db
    .selectFrom('updates')
    .where('updates.collection_id', '=', collectionId)
    .where('updates.kind', '=', sql.lit('provenance'))
    .where('updates.status', '<>', sql.lit('failed'))

/** Deletes unknown updates above `block`, because a reorg removed their blocks. */
export async function deleteUnknownUpdates(db: Db, blockchain: Blockchain, block: number): Promise<void> {
  await db
    .deleteFrom('unknown_updates')
    .where('blockchain', '=', blockchain)
    .where('block_number', '>', block)
    .execute()
}
