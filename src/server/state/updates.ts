import { sql } from 'kysely'
import { enqueueUpdateEvents } from '../store/outbox.ts'
import type { Db } from '../store/schema.ts'
import { reindexTitles } from '../store/title-index.ts'
import type { TransactionRow } from '../store/transactions.ts'
import { type NewRow, stateDb } from './state-db.ts'
import type { NewTransaction } from './transactions.ts'
import { type ClaimedNft, updateClaimed } from './update-claimed.ts'

export type NewUpdate = Omit<NewRow<'updates'>, 'status' | 'step'> & { step: 'files' | 'sign' }

/**
 * Stores accepted updates. Returns false if one of the NFTs already has a pending update. In this case, the caller must
 * roll back.
 */
export async function addUpdates(db: Db, updates: readonly NewUpdate[]): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await stateDb(db)
    .insertInto('updates')
    .values(updates.map((update) => ({ ...update, status: 'initiated' as const })))
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return Number(numInsertedOrUpdatedRows ?? 0n) === updates.length
}

/** Marks the update as failed because its files can't be fetched. */
export async function failClaimedUpdate(db: Db, claimed: ClaimedNft, error: string): Promise<boolean> {
  const failed = await updateClaimed(db, 'updates', claimed, { status: 'failed', step: 'done', error })
  if (failed) await enqueueUpdateEvents(db, 'failed', [claimed.seq])
  return failed
}

/**
 * Assigns updates to their transaction. Returns the number of updates that were still pending and belong to a deployed
 * NFT. If this number is smaller than the number of given updates, the caller must roll back.
 */
export async function assignUpdates(db: Db, seqs: readonly number[], transactionId: string): Promise<number> {
  const { numUpdatedRows } = await stateDb(db)
    .updateTable('updates')
    .set({ step: 'chain', transaction_id: transactionId })
    .where('seq', 'in', seqs)
    .where('step', '=', 'sign')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('nfts')
            .select('nfts.id')
            .whereRef('nfts.id', '=', 'updates.nft_id')
            .where('nfts.status', '<>', sql.lit('deployed')),
        ),
      ),
    )
    .executeTakeFirst()
  return Number(numUpdatedRows)
}

/**
 * Marks the updates of a final transaction as deployed, and their NFTs as updated or frozen.
 *
 * @param firstTokenId only for a commitment: the ID of the next token at the time of the commitment
 */
export async function deployUpdates(
  db: Db,
  {
    id,
    kind,
    update_sequence: sequence = null,
    directory,
  }: Pick<TransactionRow, 'id' | 'kind'> & Pick<NewTransaction, 'update_sequence' | 'directory'>,
  firstTokenId: string | null = null,
): Promise<void> {
  const deployed = await stateDb(db)
    .updateTable('updates')
    .set({
      status: 'deployed',
      step: 'done',
      error: null,
      attempts: 0,
      revision: sequence,
      first_token_id: firstTokenId,
    })
    .where('transaction_id', '=', id)
    .where('step', '=', 'chain')
    .returning(['seq', 'nft_id'])
    .execute()
  const nfts = db.selectFrom('updates').select('nft_id').where('transaction_id', '=', id)
  if (kind === 'freeze') await db.updateTable('nfts').set({ frozen: 1 }).where('id', 'in', nfts).execute()
  else if (kind === 'update') {
    const change = sql`
      update nfts set revision = ${sequence}, update_id = updates.id,
        metadata_url = ${`ipfs://${directory}/`} || nfts.token_id || '.json'
      from updates where updates.transaction_id = ${id} and updates.status = 'deployed' and nfts.id = updates.nft_id
        and nfts.revision < ${sequence}`
    const nftIds = deployed.flatMap(({ nft_id }) => nft_id ?? [])
    await reindexTitles(db, nftIds, () => change.execute(db))
  }
  await enqueueUpdateEvents(
    db,
    'deployed',
    deployed.map(({ seq }) => seq),
  )
}

/** Marks as deployed a commitment that was made by a transaction that the database doesn't have. */
export async function deployCommitment(db: Db, seq: number, firstTokenId: string): Promise<void> {
  const { numUpdatedRows } = await stateDb(db)
    .updateTable('updates')
    .set({ status: 'deployed', step: 'done', error: null, first_token_id: firstTokenId })
    .where('seq', '=', seq)
    .where('step', '=', 'sign')
    .executeTakeFirst()
  if (numUpdatedRows > 0n) await enqueueUpdateEvents(db, 'deployed', [seq])
}

/** Makes the updates of a transaction without effect wait for another transaction. */
export async function requeueUpdates(db: Db, transactionId: string, countsAttempt: boolean): Promise<void> {
  await stateDb(db)
    .updateTable('updates')
    .set((update) => ({
      step: 'sign',
      transaction_id: null,
      ...(countsAttempt ? { attempts: update('attempts', '+', 1) } : {}),
    }))
    .where('transaction_id', '=', transactionId)
    .where('step', '=', 'chain')
    .execute()
}

/** Marks pending updates as failed. */
export async function failUpdates(db: Db, seqs: readonly number[], error: string): Promise<void> {
  if (seqs.length === 0) return
  const failed = await stateDb(db)
    .updateTable('updates')
    .set((update) => ({
      status: 'failed',
      step: 'done',
      error,
      lease_until: 0,
      generation: update('generation', '+', 1),
    }))
    .where('seq', 'in', seqs)
    .where('status', '=', 'initiated')
    .returning('seq')
    .execute()
  await enqueueUpdateEvents(
    db,
    'failed',
    failed.map(({ seq }) => seq),
  )
}

/**
 * Makes the updates of a transaction pending again, because a reorg removed its block. Restores the NFTs' metadata from
 * the previous update, or from the mint.
 */
export async function withdrawUpdates(db: Db, transactionId: string): Promise<void> {
  const withdrawn = await stateDb(db)
    .updateTable('updates')
    .set({ status: 'initiated', step: 'chain', revision: null, first_token_id: null, returned: 1 })
    .where('transaction_id', '=', transactionId)
    .where('status', '=', 'deployed')
    .returning(['nft_id'])
    .execute()
  const nftIds = withdrawn.flatMap(({ nft_id }) => nft_id ?? [])
  if (nftIds.length === 0) return
  const before = (column: string) => sql`(select ${sql.raw(column)} from updates
    join transactions on transactions.id = updates.transaction_id
    where updates.nft_id = nfts.id and updates.status = 'deployed' and updates.kind = 'update'
    order by updates.revision desc limit 1)`
  const change = sql`
    update nfts set revision = coalesce(${before('updates.revision')}, 0), update_id = ${before('updates.id')},
      frozen = case when exists (select 1 from updates where updates.nft_id = nfts.id and updates.status = 'deployed'
        and updates.kind = 'freeze') then 1 else 0 end,
      metadata_url = coalesce(
        ${before(`'ipfs://' || transactions.directory || '/' || nfts.token_id || '.json'`)},
        (select 'ipfs://' || minted.directory || '/' || cast(nfts.batch_index as text) || '.json'
          from transactions as minted where minted.id = nfts.transaction_id and nfts.token_id is not null))
    where id in (${sql.join(nftIds)})`
  await reindexTitles(db, nftIds, () => change.execute(db))
}
