import type { EvmNetwork, EvmReceipt, Hex, PublicNetwork } from '../../../chain/evm/network.ts'
import type { Log } from '../../../log.ts'
import { withdrawCollection } from '../../../state/collections.ts'
import { withdrawBundle } from '../../../state/nfts.ts'
import { requeueTransaction } from '../../../state/transactions.ts'
import { withdrawTransfer } from '../../../state/transfers.ts'
import { withdrawUpdates } from '../../../state/updates.ts'
import { listAttempts } from '../../../store/attempts.ts'
import type { Store } from '../../../store/open-store.ts'
import { lockTokenOwners } from '../../../store/owner-events.ts'
import type { Db } from '../../../store/schema.ts'
import { isTransfer, isUpdate, type TransactionRow } from '../../../store/transactions.ts'
import { endWatch, listWatchedTransactions, updateWatched } from '../../../store/watched.ts'
import { findMined, transactionOutcome } from './observe.ts'

export interface ReorgWatchOptions {
  store: Store
  network: EvmNetwork
  publicNetwork: PublicNetwork
  now: () => number
  log: Log
}

/**
 * Compares the blocks of settled transactions with the chain until they are final. If a block was removed, its
 * transactions are pending again, because their bytes are still valid, and their effects in the database are rolled
 * back.
 *
 * @returns the number of transactions that are still watched or that are pending again
 */
export async function watchSettled({ store, network, publicNetwork, now, log }: ReorgWatchOptions): Promise<number> {
  const watched = await listWatchedTransactions(store.db, network.blockchain)
  if (watched.length === 0) return 0
  const head = await publicNetwork.head()
  const numbers = [...new Set(watched.map((row) => Number(row.block_number)))]
  const hashes = await publicNetwork.blockHashes(numbers, head)
  const hashAt = new Map(numbers.map((number, index) => [number, hashes[index] ?? null]))
  const isFinal = (blockNumber: number) => head - blockNumber + 1 >= publicNetwork.finality

  const moved: TransactionRow[] = []
  const final: TransactionRow[] = []
  for (const row of watched) {
    const hash = hashAt.get(Number(row.block_number)) ?? null
    // The node lags, or the new chain isn't as long as the old one yet. Check again in a later turn.
    if (hash === null) continue
    if (hash !== row.block_hash) moved.push(row)
    else if (isFinal(Number(row.block_number))) final.push(row)
  }
  const stillWatched = watched.length - (await endWatch(store.db, final))
  if (moved.length === 0) return stillWatched

  const attempts = await listAttempts(
    store.db,
    moved.map(({ id }) => id),
  )
  const mined = await findMined(
    network,
    moved,
    ({ id, hash }) => (attempts.get(id)?.map((attempt) => attempt.hash) ?? [hash]) as Hex[],
  )
  for (const row of moved) {
    const receipt = mined.get(row.id)
    const logFields = { blockchain: row.blockchain, transaction: row.id, block: row.block_number }
    if (receipt !== undefined && isStillDeployed(receipt, head, network)) {
      log.info({ ...logFields, now: Number(receipt.blockNumber) }, 'a reorg moved a transaction to another block')
      // The new block may have another signed version of the transaction, with other fees.
      await updateWatched(store.db, row, transactionOutcome(receipt, row.raw, attempts.get(row.id)).seen)
      continue
    }
    log.warn(logFields, 'a reorg removed the block of a transaction; it is pending again')
    await store.transaction(async (db) => {
      await lockTokenOwners(db, row.blockchain, 'shared')
      if (await requeueTransaction(db, row, now())) await withdraw(db, row)
    })
  }
  return stillWatched
}

const isStillDeployed = ({ status, blockNumber }: EvmReceipt, head: number, { confirmations }: EvmNetwork): boolean =>
  status === 'success' && head - Number(blockNumber) + 1 >= confirmations

/** Rolls back the changes that were written when the transaction was settled as a success. */
async function withdraw(db: Db, transaction: TransactionRow): Promise<void> {
  const { id, kind, collection_id: collectionId, start_id: startId, token_count: count } = transaction
  if (isTransfer(transaction)) await withdrawTransfer(db, id)
  if (isUpdate(transaction)) await withdrawUpdates(db, id)
  if (collectionId === null) return
  if (kind === 'collection') await withdrawCollection(db, collectionId)
  if (startId !== null) await withdrawBundle(db, { collectionId, transactionId: id, startId, count })
}
