import { type RawBuilder, sql } from 'kysely'
import type { NftRow } from './nfts.ts'
import type { Db } from './schema.ts'

export interface KnownMembers {
  /** Members of the group that are final, and those that an operator has released. */
  count: number
  /** Mints of transactions that are signed and not final. */
  pending: string[]
}

/** Members of a collection's group that the database knows, by one statement: each of them is counted once. */
export async function knownMembers(db: Db, collectionId: string): Promise<KnownMembers> {
  const { rows } = await sql<{ mint: string | null; count: number }>`
    select null as mint, coalesce(sum(deployed), 0) as count from nft_counts where collection_id = ${collectionId}
    union all
    select null, coalesce(sum(token_count), 0) from unknown_mints
      where collection_id = ${collectionId} and state = 'released'
    union all
    select mint, 0 from solana_transactions
      where collection_id = ${collectionId} and state = 'signed' and kind = 'mint'`.execute(db)
  return {
    count: rows.reduce((sum, row) => sum + Number(row.count), 0),
    pending: rows.flatMap(({ mint }) => mint ?? []),
  }
}

type DirectoryNft = Pick<NftRow, 'id' | 'metadata' | 'files'> & { batch_index: number }

/** NFTs whose metadata files share a directory, in the order of its files. */
export async function listNftsOfDirectory(db: Db, collectionId: string, directory: string): Promise<DirectoryNft[]> {
  const those = (condition: RawBuilder<unknown>) => sql<DirectoryNft>`
    select nfts.id, nfts.metadata, nfts.files, nfts.batch_index from solana_transactions cross join nfts
    where solana_transactions.collection_id = ${collectionId} and solana_transactions.directory = ${directory}
      and nfts.transaction_id = solana_transactions.id and ${condition}`
  // No index has the transactions of all NFTs: by their tokens, by the index of the pending ones, and by that of those
  // that failed, which are few.
  const pending = sql`nfts.step = 'chain'`
  const minted = sql`nfts.collection_id = ${collectionId} and nfts.token_id = solana_transactions.mint`
  const failed = sql`nfts.collection_id = ${collectionId} and nfts.status = 'failed' and nfts.token_id is null`
  // Pending ones first: one that is settled meanwhile is read twice, and kept once.
  const found = new Map<string, DirectoryNft>()
  for (const condition of [pending, minted, failed]) {
    for (const nft of (await those(condition).execute(db)).rows) found.set(nft.id, nft)
  }
  return [...found.values()].sort((a, b) => a.batch_index - b.batch_index)
}

/** The NFT that a transaction mints. */
export async function findNftOfTransaction(db: Db, transactionId: string): Promise<NftRow | null> {
  const row = await db
    .selectFrom('nfts')
    .selectAll()
    .where('transaction_id', '=', transactionId)
    .where('step', '=', sql.lit('chain'))
    .executeTakeFirst()
  return row ?? null
}

/** Changes which file of its transaction's directory is the metadata of a pending NFT. */
export async function setBatchIndex(db: Db, transactionId: string, index: number): Promise<void> {
  await db
    .updateTable('nfts')
    .set({ batch_index: index })
    .where('transaction_id', '=', transactionId)
    .where('step', '=', sql.lit('chain'))
    .execute()
}

/** Another transaction was signed in the place of one that expired. */
export async function moveToTransaction(db: Db, from: string, to: string): Promise<void> {
  await db
    .updateTable('nfts')
    .set({ transaction_id: to })
    .where('transaction_id', '=', from)
    .where('step', '=', sql.lit('chain'))
    .execute()
}
