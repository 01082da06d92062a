import { type Insertable, type Selectable, sql } from 'kysely'
import type { ClaimOptions } from './claim.ts'
import { isPostgres, momentIn } from './dialect.ts'
import { failAndTell, isHeard, tellMinted, tellNfts } from './outbox.ts'
import type { Db, NftsTable } from './schema.ts'
import { indexFiles } from './title-index.ts'

export type NftRow = Selectable<NftsTable>

// SQLite binds at most 32,766 parameters in a statement; a row here has 10.
const ROWS_PER_INSERT = 1000

export async function insertNfts(db: Db, nfts: readonly Insertable<NftsTable>[]): Promise<void> {
  for (let at = 0; at < nfts.length; at += ROWS_PER_INSERT) {
    await db
      .insertInto('nfts')
      .values(nfts.slice(at, at + ROWS_PER_INSERT))
      .execute()
  }
}

/** Ids of a collection's NFTs in the order of their acceptance. */
export async function listNftIds(db: Db, collectionId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('nfts')
    .select('id')
    .where('collection_id', '=', collectionId)
    .orderBy('seq')
    .execute()
  return rows.map((row) => row.id)
}

const RECORD = [
  'nfts.id',
  'nfts.token_id',
  'nfts.receiver',
  'nfts.owner',
  'nfts.status',
  'nfts.metadata',
  'nfts.files',
  'nfts.metadata_url',
  'nfts.error',
  'nfts.step',
  'collections.contract_address',
] as const

/** NFTs of these ids that an account may read, in no particular order. */
export async function findNfts(db: Db, accountId: string, ids: readonly string[]) {
  const rows = await db
    .selectFrom('nfts')
    .innerJoin('collections', 'collections.id', 'nfts.collection_id')
    .select([...RECORD, 'collections.account_id'])
    .where('nfts.id', 'in', ids)
    .execute()
  // Not in the query: without statistics SQLite starts at the account's collections and reads all of their NFTs.
  return rows.filter(({ account_id }) => account_id === accountId)
}

/** An NFT by its id, with its collection's address and blockchain, whoever's it is. */
export async function findNft(db: Db, id: string) {
  const row = await db
    .selectFrom('nfts')
    .innerJoin('collections', 'collections.id', 'nfts.collection_id')
    .select([...RECORD, 'nfts.collection_id', 'collections.blockchain'])
    .where('nfts.id', '=', id)
    .executeTakeFirst()
  return row ?? null
}

/** Gives an NFT a new owner. */
export async function setOwner(db: Db, id: string, owner: string, block: number): Promise<void> {
  await db.updateTable('nfts').set({ owner, owner_block: block }).where('id', '=', id).execute()
}

/** Takes NFTs whose files are to be fetched: due, and in nobody's hands (or in those of a worker that died). */
export async function claimNftsForFiles(db: Db, { now, leaseMs, limit }: ClaimOptions): Promise<NftRow[]> {
  const due = db
    .selectFrom('nfts')
    .select('seq')
    .where('step', '=', sql.lit('files'))
    .where('next_attempt_at', '<=', momentIn(now))
    .where('lease_until', '<=', momentIn(now))
    .orderBy('next_attempt_at')
    .orderBy('seq')
    .limit(limit)
    .$if(isPostgres(db), (query) => query.forNoKeyUpdate().skipLocked())
  return db
    .with(
      (name) => name('due').materialized(),
      () => due,
    )
    .updateTable('nfts')
    .set((nft) => ({ lease_until: momentIn(now, leaseMs), generation: nft('generation', '+', 1) }))
    .where('seq', 'in', ({ selectFrom }) => selectFrom('due').select('due.seq'))
    .returningAll()
    .execute()
}

type Claimed = Pick<NftRow, 'seq' | 'generation'>

/** Changes a claimed NFT. False, and nothing is written, if the claim was lost to another worker. */
async function updateClaimed(db: Db, claimed: Claimed, changes: Partial<NftRow>): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('nfts')
    .set({ ...changes, lease_until: 0 })
    .where('seq', '=', claimed.seq)
    .where('generation', '=', claimed.generation)
    .where('step', '=', 'files')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** The files are stored: the NFT waits for a batch, and is found by them. */
export async function passOnToMint(
  db: Db,
  claimed: Claimed & Pick<NftRow, 'collection_id'>,
  given: Readonly<Record<string, string>>,
): Promise<boolean> {
  const files = JSON.stringify(given)
  const passed = await updateClaimed(db, claimed, { step: 'mint', files, attempts: 0, error: null })
  if (passed) await indexFiles(db, { ...claimed, files })
  return passed
}

/**
 * Schedules another attempt to fetch the files.
 *
 * @param at.error why the last attempt failed; the one before stands unless it is given
 */
export function postponeNft(
  db: Db,
  claimed: Claimed,
  { attempts, nextAttemptAt, error }: { attempts: number; nextAttemptAt: number; error?: string },
): Promise<boolean> {
  return updateClaimed(db, claimed, {
    attempts,
    next_attempt_at: nextAttemptAt,
    ...(error === undefined ? {} : { error }),
  })
}

/** The fetching failed for good. */
export async function failClaimedNft(db: Db, claimed: Claimed & { id: string }, error: string): Promise<boolean> {
  const failed = await updateClaimed(db, claimed, { status: 'failed', step: 'done', error })
  if (failed && (await isHeard(db))) await tellNfts(db, 'nft.failed', [claimed])
  return failed
}

/** Every unfinished NFT of a collection fails with one reason. */
export async function failNftsOfCollection(db: Db, collectionId: string, error: string): Promise<void> {
  for (const unfinished of unfinishedOf(db, collectionId, error)) await failAndTell(db, unfinished)
}

/** Every NFT of a collection that would be transferred in the step that creates it fails with one reason. */
export async function failGrantsOfCollection(db: Db, collectionId: string, error: string): Promise<void> {
  for (const unfinished of unfinishedOf(db, collectionId, error)) {
    await failAndTell(db, unfinished.where('sender', 'is not', null))
  }
}

const UNFINISHED = ['files', 'mint', 'chain'] as const

/**
 * Beside a step, whose own index holds only what is unfinished. The concatenation hides the collection from the planner:
 * it would read all NFTs of the collection, which may be a million that are deployed.
 */
const OF_COLLECTION = sql<string>`collection_id || ''`

/** One change for each step. */
const unfinishedOf = (db: Db, collectionId: string, error: string) =>
  UNFINISHED.map((step) =>
    db
      .updateTable('nfts')
      .set((nft) => ({ status: 'failed', step: 'done', error, lease_until: 0, generation: nft('generation', '+', 1) }))
      .where('step', '=', sql.lit(step))
      .where(OF_COLLECTION, '=', collectionId),
  )

/**
 * What the next batch of a collection would hold, oldest first.
 *
 * @param after only NFTs with a higher `seq`
 */
export async function listMintable(db: Db, collectionId: string, limit: number, after = 0) {
  return db
    .selectFrom('nfts')
    .select(['seq', 'id', 'request_id', 'sender', 'receiver', 'metadata', 'files'])
    .where('collection_id', '=', collectionId)
    .where('step', '=', sql.lit('mint'))
    .$if(after > 0, (query) => query.where('seq', '>', after))
    .orderBy('seq')
    .limit(limit)
    .execute()
}

/** NFTs of a collection that aren't minted yet. */
export async function countPending(db: Db, collectionId: string): Promise<number> {
  let pending = 0
  for (const step of UNFINISHED) {
    const { count } = await db
      .selectFrom('nfts')
      .select(({ fn }) => fn.countAll().as('count'))
      .where('step', '=', sql.lit(step))
      .where(OF_COLLECTION, '=', collectionId)
      .executeTakeFirstOrThrow()
    pending += Number(count)
  }
  return pending
}

/** Whether NFTs of a collection still wait for their files. */
export async function hasWaitingFiles(db: Db, collectionId: string): Promise<boolean> {
  const row = await db
    .selectFrom('nfts')
    .select('seq')
    .where('step', '=', sql.lit('files'))
    .where(OF_COLLECTION, '=', collectionId)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Collections that have NFTs waiting for a batch. One step of the index for each collection: a DISTINCT would read an
 * entry for each NFT, 50 ms for a million.
 */
export async function collectionsWithMintable(db: Db): Promise<string[]> {
  // With statistics of a few NFTs SQLite takes the index of all NFTs.
  const waiting = isPostgres(db) ? sql`nfts` : sql`nfts indexed by nfts_mint_due`
  const { rows } = await sql<{ id: string }>`
    with recursive waiting (id) as (
      select min(collection_id) from ${waiting} where step = 'mint'
      union all
      select (select min(collection_id) from ${waiting} where step = 'mint' and collection_id > waiting.id)
      from waiting where waiting.id is not null
    ) select id from waiting where id is not null`.execute(db)
  return rows.map((row) => row.id)
}

/**
 * Ties NFTs to the transaction that mints them, in their order in its batch. Returns how many were still waiting:
 * fewer than given means that another worker was faster, and the caller must roll back.
 */
export async function assignToTransaction(db: Db, seqs: readonly number[], transactionId: string): Promise<number> {
  const positions = sql.join(seqs.map((seq, index) => sql`(${sql.lit(seq)}, ${sql.lit(index)})`))
  const { numAffectedRows } = await sql`
    update nfts set step = 'chain', transaction_id = ${transactionId}, batch_index = positions.column2
    from (values ${positions}) as positions
    where nfts.seq = positions.column1 and nfts.step = 'mint'`.execute(db)
  return Number(numAffectedRows ?? 0n)
}

/**
 * The batch is final: every token of it has its id and its owner. Whoever got a token may have moved it on already, and
 * the follower may have read of it before the token had its id here: then its last event says who owns it; or its
 * transfer, mined in the same block, was settled before.
 */
export async function deployBatch(
  db: Db,
  batch: { transactionId: string; startId: string; directory: string },
): Promise<void> {
  const { rows } = await sql<{ id: string; seq: number }>`
    update nfts set status = 'deployed', step = 'done', attempts = 0,
      owner = coalesce((select next from owner_events where owner_events.collection_id = nfts.collection_id
        and owner_events.token_id = cast(cast(${batch.startId} as bigint) + batch_index as text)
        order by block_number desc, log_index desc limit 1), owner, receiver),
      token_id = cast(cast(${batch.startId} as bigint) + batch_index as text),
      metadata_url = 'ipfs://' || ${batch.directory} || '/' || cast(batch_index as text) || '.json'
    where transaction_id = ${batch.transactionId} and step = 'chain'
    returning id, seq`.execute(db)
  await tellMinted(db, rows)
}

/** Counts a revert for each NFT of the batch, and tells the highest count. */
export async function countRevert(db: Db, transactionId: string): Promise<number> {
  const rows = await db
    .updateTable('nfts')
    .set((nft) => ({ attempts: nft('attempts', '+', 1) }))
    .where('transaction_id', '=', transactionId)
    .where('step', '=', 'chain')
    .returning('attempts')
    .execute()
  return Math.max(0, ...rows.map(({ attempts }) => attempts))
}

/** The batch reverted and had no effect: its NFTs wait for another. */
export async function returnBatchToMint(db: Db, transactionId: string): Promise<void> {
  await db
    .updateTable('nfts')
    .set({ step: 'mint', transaction_id: null, batch_index: null })
    .where('transaction_id', '=', transactionId)
    .where('step', '=', 'chain')
    .execute()
}

/** The batch can't be minted. */
export async function failBatch(db: Db, transactionId: string, error: string): Promise<void> {
  const change = db
    .updateTable('nfts')
    .set({ status: 'failed', step: 'done', error })
    .where('transaction_id', '=', transactionId)
    .where('step', '=', 'chain')
  await failAndTell(db, change)
}

/** When the earliest fetching becomes due, or null. */
export async function nextFilesDue(db: Db): Promise<number | null> {
  const row = await db
    .selectFrom('nfts')
    .select(({ fn }) => fn.min('next_attempt_at').as('at'))
    .where('step', '=', sql.lit('files'))
    .executeTakeFirst()
  return row?.at ?? null
}
