import { type Selectable, sql } from 'kysely'
import type { Blockchain, EvmBlockchain } from '../../api/blockchains.ts'
import { type CollectionRow, lockCollection } from './collections.ts'
import type { Db, UnknownMintsTable } from './schema.ts'

export type UnknownMintRow = Selectable<UnknownMintsTable>
export type FoundMint = Omit<UnknownMintRow, 'state' | 'signer' | 'directory' | 'reason' | 'found_at'>

const IS_UNRELEASED = sql<boolean>`state <> 'released'`

/**
 * Stores the on-chain mints that belong to no transaction in this database. Transactions are stored before they are
 * sent, so an unknown transaction was made by another backend, or by this one and then lost from the database. A
 * transaction that counts as lost is unknown too, because the NFTs that it minted are pending again.
 */
export async function addUnknownMints(db: Db, mints: readonly FoundMint[]): Promise<void> {
  if (mints.length === 0) return
  const hashes = [...new Set(mints.map(({ hash }) => hash))]
  const knownRows = await db
    .selectFrom('transactions')
    .select('hash')
    .where('hash', 'in', hashes)
    .where('state', '<>', sql.lit('lost'))
    .union(
      db
        .selectFrom('transaction_attempts')
        .innerJoin('transactions', 'transactions.id', 'transaction_id')
        .select('transaction_attempts.hash')
        .where('transaction_attempts.hash', 'in', hashes)
        .where('state', '<>', sql.lit('lost')),
    )
    .execute()
  const knownHashes = new Set(knownRows.map(({ hash }) => hash))
  const unknown = mints.filter(({ hash }) => !knownHashes.has(hash))
  if (unknown.length === 0) return
  await db
    .insertInto('unknown_mints')
    .values(unknown.map((mint) => ({ ...mint, state: 'found' as const, found_at: Date.now() })))
    .onConflict((conflict) => conflict.columns(['collection_id', 'hash']).doNothing())
    .execute()
}

/**
 * Records that a Solana collection has members that the database doesn't have, unless unknown mints are already
 * recorded. The chain shows only the number of members. Call this in a transaction.
 */
export async function addUnknownMembers(
  db: Db,
  { id, blockchain, contract_address }: Pick<CollectionRow, 'id' | 'blockchain' | 'contract_address'>,
  unknown: number,
): Promise<void> {
  // Lock the collection, so that only one of several concurrent processes records the members.
  await lockCollection(db, id)
  if ((await listUnreleasedMints(db, id)).length > 0) return
  const now = Date.now()
  const [hash, nowhere] = [`${contract_address}:${now}`, { start_id: '0', block_number: 0 }]
  await db
    .insertInto('unknown_mints')
    .values({ collection_id: id, blockchain, hash, ...nowhere, token_count: unknown, state: 'found', found_at: now })
    .execute()
}

export interface KnownMembers {
  /** Number of final mints in the group, plus mints that an operator has released. */
  count: number
  /** Mints of transactions that are signed and not final. */
  pending: string[]
}

/**
 * Counts the members of a Solana group that are recorded in the database. Uses one statement, so that each member is
 * counted once.
 */
export async function knownMembers(db: Db, collectionId: string): Promise<KnownMembers> {
  const { rows } = await sql<{ mint: string | null; count: number }>`
    select null as mint, coalesce(sum(deployed), 0) as count from nft_counts where collection_id = ${collectionId}
    union all
    select null, coalesce(sum(token_count), 0) from unknown_mints
      where collection_id = ${collectionId} and state = 'released'
    union all
    select mint, 0 from transactions
      where collection_id = ${collectionId} and state = 'signed' and kind = 'mint'`.execute(db)
  return {
    count: rows.reduce((sum, row) => sum + Number(row.count), 0),
    pending: rows.flatMap(({ mint }) => mint ?? []),
  }
}

/** Removes mints above `block` after a reorg. A released mint is kept, in case it is mined again. */
export async function deleteUnknownMints(db: Db, blockchain: EvmBlockchain, block: number): Promise<void> {
  await db
    .deleteFrom('unknown_mints')
    .where('blockchain', '=', blockchain)
    .where('block_number', '>', block)
    .where(IS_UNRELEASED)
    .execute()
}

/**
 * Returns mints of a blockchain that weren't examined yet, in chain order. A block may have several mints of a
 * collection.
 */
export async function listFoundMints(db: Db, blockchain: Blockchain): Promise<UnknownMintRow[]> {
  const rows = await db
    .selectFrom('unknown_mints')
    .selectAll()
    .where(IS_UNRELEASED)
    .where('state', '=', sql.lit('found'))
    .where('blockchain', '=', blockchain)
    .execute()
  return rows.sort(
    (a, b) => Number(a.block_number) - Number(b.block_number) || Number(BigInt(a.start_id) - BigInt(b.start_id)),
  )
}

/** Returns the mints that prevent a collection from minting. */
export async function listUnreleasedMints(db: Db, collectionId: string): Promise<UnknownMintRow[]> {
  return await db
    .selectFrom('unknown_mints')
    .selectAll()
    .where('collection_id', '=', collectionId)
    .where(IS_UNRELEASED)
    .orderBy('block_number')
    .execute()
}

/** Returns the given collections that can't mint because of unknown mints. */
export async function findBlockedCollections(db: Db, collectionIds: readonly string[]): Promise<Set<string>> {
  const rows = await db
    .selectFrom('unknown_mints')
    .select('collection_id')
    .distinct()
    .where('collection_id', 'in', collectionIds)
    .where(IS_UNRELEASED)
    .execute()
  return new Set(rows.map(({ collection_id }) => collection_id))
}

/**
 * Returns mints with their collections, in chain order. By default, returns only mints that prevent a collection from
 * minting.
 */
export async function listUnknownMints(db: Db, { released = false } = {}) {
  return await db
    .selectFrom('unknown_mints')
    .innerJoin('collections', 'collections.id', 'unknown_mints.collection_id')
    .selectAll('unknown_mints')
    .select(['collections.contract_address', 'collections.name'])
    .$if(!released, (query) => query.where(sql<boolean>`unknown_mints.state <> 'released'`))
    .orderBy('unknown_mints.blockchain')
    .orderBy('block_number')
    .execute()
}

type UnknownMintKey = Pick<UnknownMintRow, 'collection_id' | 'hash'>

export async function updateUnknownMint(
  db: Db,
  { collection_id, hash }: UnknownMintKey,
  changes: Partial<UnknownMintRow>,
): Promise<void> {
  await db
    .updateTable('unknown_mints')
    .set(changes)
    .where('collection_id', '=', collection_id)
    .where('hash', '=', hash)
    .execute()
}

/**
 * Removes a mint that becomes a transaction of this database. Call this first in the transaction that adopts the mint.
 * Returns false if another process has already adopted the mint.
 */
export async function removeUnknownMint(db: Db, { collection_id, hash }: UnknownMintKey): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('unknown_mints')
    .where('collection_id', '=', collection_id)
    .where('hash', '=', hash)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/** Returns the transactions of a collection that count as lost and have token IDs. */
export async function listLostMints(db: Db, collectionId: string) {
  return await db
    .selectFrom('transactions')
    .select(['start_id', 'token_count', 'id', 'hash'])
    .where('collection_id', '=', collectionId)
    .where('start_id', 'is not', null)
    .where('state', '=', sql.lit('lost'))
    .execute()
}

/** Allows a collection to mint despite unexplained tokens. Returns the number of released mints. */
export async function releaseUnknownMints(db: Db, collectionId: string): Promise<number> {
  const { numUpdatedRows } = await db
    .updateTable('unknown_mints')
    .set({ state: 'released' })
    .where('collection_id', '=', collectionId)
    .where('state', '=', 'unexplained')
    .executeTakeFirst()
  return Number(numUpdatedRows)
}

/**
 * Returns the ID after the last token for which there is a final transaction or an examined mint. Stops at the first
 * unknown token, which may be the token of a pending NFT.
 */
async function knownTokenEnd(db: Db, collectionId: string, startId: bigint): Promise<bigint> {
  const rows = await db
    .selectFrom('transactions')
    .select(['start_id', 'token_count'])
    .where('collection_id', '=', collectionId)
    .where('start_id', 'is not', null)
    .where('state', '=', sql.lit('final'))
    .unionAll(
      db
        .selectFrom('unknown_mints')
        .select(['start_id', 'token_count'])
        .where('collection_id', '=', collectionId)
        .where('state', '<>', sql.lit('found')),
    )
    .execute()
  const mints = rows.map(({ start_id, token_count }) => ({ first: BigInt(start_id ?? 1), count: BigInt(token_count) }))
  let end = startId
  for (const { first, count } of mints.sort((a, b) => Number(a.first - b.first))) {
    if (first <= end && first + count > end) end = first + count
  }
  return end
}

/**
 * Returns the next token ID to sign for. This is the next ID on chain, or the ID of the first unknown token if that is
 * lower.
 */
export async function nextKnownTokenId(
  db: Db,
  { id, startId }: { id: string; startId: bigint },
  onChain: bigint,
): Promise<bigint> {
  if (onChain <= startId) return onChain
  const knownEnd = await knownTokenEnd(db, id, startId)
  return onChain < knownEnd ? onChain : knownEnd
}
