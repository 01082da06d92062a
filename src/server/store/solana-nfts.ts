import { sql } from 'kysely'
import type { NftRow } from './nfts.ts'
import { tellMinted } from './outbox.ts'
import type { Db } from './schema.ts'

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

/** Another transaction was signed in the place of one that expired. */
export async function moveToTransaction(db: Db, from: string, to: string): Promise<void> {
  await db
    .updateTable('nfts')
    .set({ transaction_id: to })
    .where('transaction_id', '=', from)
    .where('step', '=', sql.lit('chain'))
    .execute()
}
