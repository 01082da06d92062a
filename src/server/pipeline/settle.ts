import { type EvmBlockchain, isEvm } from '../../api/blockchains.ts'
import type { Log } from '../log.ts'
import { deployCollection, failCollection } from '../state/collections.ts'
import { deployNfts, failBundle, failGrantsOfCollection, failNftsOfCollection, requeueBundle } from '../state/nfts.ts'
import { addTransactions, endTransaction } from '../state/transactions.ts'
import { endTransfer } from '../state/transfers.ts'
import { deployUpdates, failUpdates, requeueUpdates } from '../state/updates.ts'
import { lockCollection, updateCollection } from '../store/collections.ts'
import { incrementReverts, setOwner, updateSignedNfts } from '../store/nfts.ts'
import type { Store } from '../store/open-store.ts'
import { findCursor, lockTokenOwners } from '../store/owner-events.ts'
import { listRequestIdsOfTransaction } from '../store/requests.ts'
import { assignRunToTransaction } from '../store/run-costs.ts'
import type { Db } from '../store/schema.ts'
import { isMint, isTransfer, isUpdate, type TransactionRow } from '../store/transactions.ts'
import {
  findTransferByTransaction,
  incrementTransferReverts,
  resetReverts,
  returnTransfer,
} from '../store/transfers.ts'
import { findCollectionOfUpdates, listUpdatesOfTransaction } from '../store/updates.ts'
import type { OutcomeVerdict, TransactionOutcome } from './driver.ts'
import { restoreDirectory } from './restore-directory.ts'

/** A transaction with its outcome, and the verdict for the transaction's rows. */
export interface Settlement {
  transaction: TransactionRow
  outcome: TransactionOutcome
  verdict: Exclude<OutcomeVerdict, { kind: 'wait' }>
}

/**
 * Writes the outcomes of transactions of one blockchain in one commit.
 *
 * @returns the transactions that no other worker had already settled
 */
export async function settle(
  { store, log }: { store: Store; log: Log },
  settlements: readonly Settlement[],
): Promise<readonly Settlement[]> {
  const [first, ...otherSettlements] = settlements
  if (first === undefined) return []
  const { blockchain } = first.transaction
  const requests =
    otherSettlements.length > 0 ? undefined : await listRequestIdsOfTransaction(store.db, first.transaction)
  const settled = await store.transaction(async (db) => {
    await lockTokenOwners(db, blockchain, 'shared')
    const moved = settlements.flatMap(toMovedDirectories)
    for (const id of [...new Set(moved.map(({ collectionId }) => collectionId))].sort()) await lockCollection(db, id)
    const newlySettled: Settlement[] = []
    for (const settlement of settlements) {
      const { state, seen, file } = settlement.outcome
      const end = file === undefined ? { ...seen, state } : { ...seen, state, directory: file.directory }
      if (await endTransaction(db, settlement.transaction, end)) newlySettled.push(settlement)
    }
    for (const settlement of newlySettled) await apply(db, settlement)
    await deployNfts(
      db,
      newlySettled.filter(isMinted).map(({ transaction }) => transaction.id),
    )
    const places = new Map(newlySettled.flatMap(toMovedDirectories).map((place) => [place.directory, place]))
    for (const place of places.values()) await restoreDirectory(db, { store, log }, place)
    return newlySettled
  })
  for (const settlement of settled) logOutcome(log, settlement, requests)
  if (settled.length > 1) log.info({ blockchain, transactions: settled.length }, 'transactions are settled')
  return settled
}

const isMinted = ({ transaction, verdict }: Settlement) => verdict.kind === 'done' && isMint(transaction)

/**
 * Returns the metadata directory that a token refers to, with the token's collection. Returns an empty array if it is
 * the directory of the token's transaction.
 */
function toMovedDirectories({ transaction: { collection_id: collectionId }, outcome: { file } }: Settlement) {
  return collectionId === null || file === undefined ? [] : [{ collectionId, directory: file.directory }]
}

/**
 * Applies the outcome of a transaction to its rows. Doesn't mark minted NFTs as deployed. The caller does this later
 * for all transactions at once.
 */
async function apply(db: Db, { transaction, outcome, verdict }: Settlement): Promise<void> {
  const { id, kind, collection_id: collectionId } = transaction
  if (verdict.kind === 'none') return
  if (verdict.kind === 'again' && isEvm(transaction.blockchain)) {
    await assignRunToTransaction(db, id, await listRequestIdsOfTransaction(db, transaction))
  }
  if (isTransfer(transaction)) return applyToTransfer(db, transaction, outcome, verdict)
  if (isUpdate(transaction)) return applyToUpdates(db, transaction, verdict)
  if (collectionId === null) return
  if (verdict.collection !== undefined) await updateCollection(db, collectionId, verdict.collection)
  if (verdict.kind === 'again' && verdict.replacement !== undefined) {
    const { replacement } = verdict
    await addTransactions(db, [replacement])
    if (kind === 'collection') await updateCollection(db, collectionId, { transaction_id: replacement.id })
    else await updateSignedNfts(db, id, { transaction_id: replacement.id })
    return
  }
  if (kind === 'collection') {
    if (verdict.kind === 'done') await deployCollection(db, collectionId)
    else if (verdict.kind === 'failed') await failCollection(db, collectionId, verdict.error)
    else await updateCollection(db, collectionId, { transaction_id: null, next_attempt_at: 0 })
    return
  }
  if (verdict.kind === 'done') {
    if (outcome.file !== undefined) await updateSignedNfts(db, id, { batch_index: outcome.file.index })
  } else if (verdict.kind === 'again') {
    if (verdict.counted) await incrementReverts(db, id)
    await requeueBundle(db, id)
  } else if (verdict.fails === undefined) await failBundle(db, id, verdict.error)
  else if (verdict.fails === 'grants of the collection') await failGrantsOfCollection(db, collectionId, verdict.error)
  else await failNftsOfCollection(db, collectionId, verdict.error)
}

async function applyToTransfer(
  db: Db,
  { id: transactionId, blockchain }: TransactionRow,
  { seen }: TransactionOutcome,
  verdict: Exclude<Settlement['verdict'], { kind: 'none' }>,
): Promise<void> {
  const transfer = await findTransferByTransaction(db, transactionId)
  if (transfer === null) return
  const { id, nft_id, receiver, reverts } = transfer
  if (verdict.kind === 'again') {
    if (verdict.counted) await incrementTransferReverts(db, nft_id)
    return returnTransfer(db, transactionId)
  }
  if (reverts > 0) await resetReverts(db, nft_id)
  if (verdict.kind === 'failed') return endTransfer(db, id, { status: 'failed', error: verdict.error })
  await endTransfer(db, id, { status: 'deployed' })
  // Set the owner together with the status, so that clients see both. A follower that has read this block has already
  // written the owner, or a later one.
  const followed = (await findCursor(db, blockchain as EvmBlockchain))?.block_number ?? -1
  const block = Number(seen.block_number)
  if (followed < block) await setOwner(db, nft_id, receiver, block)
}

async function applyToUpdates(
  db: Db,
  transaction: TransactionRow,
  verdict: Exclude<Settlement['verdict'], { kind: 'none' }>,
): Promise<void> {
  const { id, blockchain, update_sequence: sequence } = transaction
  if (verdict.kind === 'done') return deployUpdates(db, transaction, verdict.firstTokenId ?? null)
  const collectionId = await findCollectionOfUpdates(db, id)
  // The update's sequence number can be used again. If it belongs to an unknown update on chain, the update step
  // examines that update. After a reorg, an earlier number may already be free. On Solana, each token counts its
  // updates separately.
  if (collectionId !== null && sequence !== null && isEvm(blockchain)) {
    const { update_count = sequence } = (await lockCollection(db, collectionId)) ?? {}
    await updateCollection(db, collectionId, { update_count: Math.min(update_count, sequence - 1) })
  }
  if (verdict.kind === 'failed') {
    const seqs = (await listUpdatesOfTransaction(db, id)).map(({ seq }) => seq)
    return failUpdates(db, seqs, verdict.error)
  }
  for (const { seq, error } of verdict.fails ?? []) await failUpdates(db, [seq], error)
  await requeueUpdates(db, id, verdict.counted === true)
}

/**
 * Logs the outcome of a transaction.
 *
 * @param requests undefined if several transactions were settled together
 */
function logOutcome(log: Log, { transaction, outcome, verdict }: Settlement, requests: string[] | undefined): void {
  const { id, blockchain, hash, kind } = transaction
  const { state, seen } = outcome
  const logFields = { blockchain, transaction: id, hash: seen.hash ?? hash, kind }
  if (state === 'cancelled') log.info(logFields, 'a transaction was canceled')
  if (state === 'reverted') log.warn({ ...logFields, error: seen.error }, 'a transaction reverted')
  if (verdict.kind === 'again' && verdict.replacement !== undefined) {
    log.info(
      { ...logFields, replaced_by: verdict.replacement.id },
      'a transaction can never be executed; a replacement was signed',
    )
  }
  if (requests === undefined || (state !== 'final' && state !== 'reverted')) return
  const [status, block] = [state === 'final' ? 'success' : state, seen.block_number]
  log.info({ ...logFields, status, block, gas: Number(seen.gas_used), requests }, 'a transaction is confirmed')
}
