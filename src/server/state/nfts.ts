import { sql } from 'kysely'
import { chunksOf } from '../../core/chunks-of.ts'
import { rowsAsTable } from '../store/dialect.ts'
import { UNFINISHED_STEPS, UNINDEXED_COLLECTION_ID } from '../store/nfts.ts'
import { enqueueDeployedEvents, enqueueNftEvents, failAndEnqueueEvents, hasWebhooks } from '../store/outbox.ts'
import type { Db } from '../store/schema.ts'
import { type NewRow, stateDb } from './state-db.ts'
import { addTransactions, type NewTransaction } from './transactions.ts'
import { type ClaimedNft, updateClaimed } from './update-claimed.ts'

/** An NFT of an accepted request. The step is `files` if files must be fetched first, otherwise `mint`. */
export type NewNft = Omit<NewRow<'nfts'>, 'status' | 'step'> & { step: 'files' | 'mint' }

// SQLite binds at most 32,766 parameters in a statement, and a row here has 12.
const ROWS_PER_INSERT = 1000

export async function addNfts(db: Db, nfts: readonly NewNft[]): Promise<void> {
  for (const chunk of chunksOf(nfts, ROWS_PER_INSERT)) {
    const rows = chunk.map((nft) => ({ ...nft, status: 'initiated' as const }))
    await stateDb(db).insertInto('nfts').values(rows).execute()
  }
}

/** Marks the NFT as failed because its files can't be fetched. */
export async function failClaimedNft(db: Db, claimed: ClaimedNft & { id: string }, error: string): Promise<boolean> {
  const failed = await updateClaimed(db, 'nfts', claimed, { status: 'failed', step: 'done', error })
  if (failed && (await hasWebhooks(db))) await enqueueNftEvents(db, 'nft.failed', [claimed])
  return failed
}

/** Marks all unfinished NFTs of a collection as failed, with one reason. */
export async function failNftsOfCollection(db: Db, collectionId: string, error: string): Promise<void> {
  for (const unfinished of failUnfinishedQueries(db, collectionId, error)) await failAndEnqueueEvents(db, unfinished)
}

/**
 * Marks all unfinished grants of a collection as failed, with one reason. A grant is an NFT that is transferred when it
 * is minted.
 */
export async function failGrantsOfCollection(db: Db, collectionId: string, error: string): Promise<void> {
  for (const unfinished of failUnfinishedQueries(db, collectionId, error)) {
    await failAndEnqueueEvents(db, unfinished.where('sender', 'is not', null))
  }
}

/** Returns one update statement for each step. */
const failUnfinishedQueries = (db: Db, collectionId: string, error: string) =>
  UNFINISHED_STEPS.map((step) =>
    stateDb(db)
      .updateTable('nfts')
      .set((nft) => ({ status: 'failed', step: 'done', error, lease_until: 0, generation: nft('generation', '+', 1) }))
      .where('step', '=', sql.lit(step))
      .where(UNINDEXED_COLLECTION_ID, '=', collectionId),
  )

/**
 * Changes the NFTs of a request that no worker has claimed yet, and returns their IDs. Runs a separate statement for
 * each step, because each step has a separate index.
 */
async function changeFresh(
  db: Db,
  requestId: string,
  changes: { status: 'failed'; error: string } | Record<string, never>,
): Promise<{ id: string }[]> {
  const changed: { id: string }[] = []
  for (const step of ['files', 'mint'] as const) {
    const rows = await stateDb(db)
      .updateTable('nfts')
      .set({ ...changes, step: 'done' })
      .where('step', '=', sql.lit(step))
      .where('request_id', '=', requestId)
      .returning('id')
      .execute()
    changed.push(...rows)
  }
  return changed
}

/** Marks the NFTs of a request as failed before any work is done. */
export async function failFreshNfts(db: Db, requestId: string, error: string): Promise<void> {
  const failed = await changeFresh(db, requestId, { status: 'failed', error })
  if (await hasWebhooks(db)) await enqueueNftEvents(db, 'nft.failed', failed)
}

/** Keeps the NFTs of a request in the status `initiated`, so that no step processes them. */
export async function holdFreshNfts(db: Db, requestId: string): Promise<void> {
  await changeFresh(db, requestId, {})
}

export interface Assignment {
  seq: number
  transactionId: string
  /** Index of its metadata file in the transaction's directory. */
  index: number
}

/**
 * Assigns NFTs to the transactions that mint them. Returns how many NFTs were still pending. If the result is smaller
 * than the number of assignments, another worker has changed some of the NFTs, and the caller must roll back.
 */
export async function assignToTransactions(db: Db, assignments: readonly Assignment[]): Promise<number> {
  const inputRows = rowsAsTable(
    db,
    { seq: 'bigint', transaction_id: 'text', batch_index: 'integer' },
    assignments.map(({ seq, transactionId, index }) => [seq, transactionId, index]),
  )
  const { numAffectedRows } = await sql`
    update nfts set step = 'chain', transaction_id = given.transaction_id, batch_index = given.batch_index
    from ${inputRows} as given where nfts.seq = given.seq and nfts.step = 'mint'`.execute(db)
  return Number(numAffectedRows ?? 0n)
}

/**
 * Marks the NFTs of final transactions as deployed, with their token IDs and owners. If a receiver has already
 * transferred a token, the last event determines the owner. This happens if the follower has read the transfer before
 * the mint is settled, for example if both are in one block.
 */
export async function deployNfts(db: Db, transactionIds: readonly string[]): Promise<void> {
  if (transactionIds.length === 0) return
  const token = sql`coalesce(minted.mint, cast(cast(minted.start_id as bigint) + nfts.batch_index as text))`
  const { rows } = await sql<{ id: string; seq: number }>`
    update nfts set status = 'deployed', step = 'done', attempts = 0, token_id = ${token},
      owner = coalesce((select next from owner_events where owner_events.collection_id = nfts.collection_id
        and owner_events.token_id = ${token} order by block_number desc, log_index desc limit 1), owner, receiver),
      metadata_url = 'ipfs://' || minted.directory || '/' || cast(nfts.batch_index as text) || '.json'
    from transactions as minted
    where minted.id in (${sql.join(transactionIds)}) and nfts.transaction_id = minted.id and nfts.step = 'chain'
    returning nfts.id, nfts.seq`.execute(db)
  await enqueueDeployedEvents(db, rows)
}

/** A pending NFT whose token was found on chain. */
export interface FoundMember {
  nft: { seq: number; id: string }
  transaction: NewTransaction & { id: string }
  /** Index of its metadata file in the transaction's directory. */
  index: number
}

/** Marks NFTs as deployed by transactions that the database lost. */
export async function adoptMembers(db: Db, members: readonly FoundMember[]): Promise<void> {
  if (members.length === 0) return
  const transactions = members.map(({ transaction }) => transaction)
  await addTransactions(db, transactions, 'final')
  const assignments = members.map(({ nft, transaction, index }) => ({
    seq: nft.seq,
    transactionId: transaction.id,
    index,
  }))
  if ((await assignToTransactions(db, assignments)) !== members.length)
    throw new Error('a transaction that mints one of the NFTs was signed in the meantime')
  await deployNfts(
    db,
    transactions.map(({ id }) => id),
  )
}

/** Makes the NFTs of a reverted bundle wait for a new transaction. */
export async function requeueBundle(db: Db, transactionId: string): Promise<void> {
  await stateDb(db)
    .updateTable('nfts')
    .set({ step: 'mint', transaction_id: null, batch_index: null })
    .where('transaction_id', '=', transactionId)
    .where('step', '=', 'chain')
    .execute()
}

/** Marks the NFTs of a bundle that can't be minted as failed. */
export async function failBundle(db: Db, transactionId: string, error: string): Promise<void> {
  const change = stateDb(db)
    .updateTable('nfts')
    .set({ status: 'failed', step: 'done', error })
    .where('transaction_id', '=', transactionId)
    .where('step', '=', 'chain')
  await failAndEnqueueEvents(db, change)
}

/** Makes the NFTs of a bundle wait for the same transaction again, because a reorg removed the mint. */
export async function withdrawBundle(
  db: Db,
  bundle: { collectionId: string; transactionId: string; startId: string; count: number },
): Promise<void> {
  const tokens = Array.from({ length: bundle.count }, (_, index) => String(BigInt(bundle.startId) + BigInt(index)))
  await stateDb(db)
    .updateTable('nfts')
    .set({ status: 'initiated', step: 'chain', token_id: null, metadata_url: null, owner: null, owner_block: null })
    .where('collection_id', '=', bundle.collectionId)
    .where('token_id', 'in', tokens)
    .where('transaction_id', '=', bundle.transactionId)
    .where('status', '=', sql.lit('deployed'))
    .execute()
}
