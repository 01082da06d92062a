import { type Insertable, type RawBuilder, sql } from 'kysely'
import type { NftRow } from './nfts.ts'
import { tellMinted } from './outbox.ts'
import type { Db, SolanaTransactionsTable } from './schema.ts'
import { insertSolanaTransactions } from './solana-transactions.ts'

export interface Assignment {
  seq: number
  transactionId: string
  /** Which file of the group's directory is its metadata. */
  index: number
}

/**
 * Ties each NFT to the transaction that mints it. Returns how many were still waiting: fewer than given means that
 * another worker was faster, and the caller must roll back.
 */
export async function assignToTransactions(db: Db, assignments: readonly Assignment[]): Promise<number> {
  const rows = sql.join(
    assignments.map(({ seq, transactionId, index }) => sql`(${sql.lit(seq)}, ${transactionId}, ${sql.lit(index)})`),
  )
  const { numAffectedRows } = await sql`
    update nfts set step = 'chain', transaction_id = given.column2, batch_index = given.column3
    from (values ${rows}) as given
    where nfts.seq = given.column1 and nfts.step = 'mint'`.execute(db)
  return Number(numAffectedRows ?? 0n)
}

/** These transactions are final: each NFT has its mint as its id, and its owner. */
export async function deployMinted(db: Db, transactionIds: readonly string[]): Promise<void> {
  if (transactionIds.length === 0) return
  const { rows } = await sql<{ id: string; seq: number }>`
    update nfts set status = 'deployed', step = 'done', owner = receiver, token_id = minted.mint,
      metadata_url = 'ipfs://' || minted.directory || '/' || cast(nfts.batch_index as text) || '.json'
    from solana_transactions as minted
    where minted.id in (${sql.join(transactionIds)}) and nfts.transaction_id = minted.id and nfts.step = 'chain'
    returning nfts.id, nfts.seq`.execute(db)
  await tellMinted(db, rows)
}

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

/** A pending NFT whose token was found on chain. */
export interface FoundMember {
  nft: { seq: number; id: string }
  transaction: Insertable<SolanaTransactionsTable> & { id: string }
  /** Which file of the transaction's directory is its metadata. */
  index: number
}

/** Marks NFTs as deployed by transactions that the database had lost. */
export async function adoptMembers(db: Db, found: readonly FoundMember[]): Promise<void> {
  if (found.length === 0) return
  await insertSolanaTransactions(
    db,
    found.map(({ transaction }) => transaction),
  )
  const assignments = found.map(({ nft, transaction, index }) => ({
    seq: nft.seq,
    transactionId: transaction.id,
    index,
  }))
  if ((await assignToTransactions(db, assignments)) !== found.length) throw new Error('an NFT was signed for meanwhile')
  await deployMinted(
    db,
    found.map(({ transaction }) => transaction.id),
  )
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
