import type { EvmNetwork, EvmReceipt } from '../../chain/evm/network.ts'
import type { Log } from '../../log.ts'
import { failCollection } from '../../state/collections.ts'
import { failBatch } from '../../state/nfts.ts'
import { endTransaction } from '../../state/transactions.ts'
import { endTransfer } from '../../state/transfers.ts'
import { updateCollection } from '../../store/collections.ts'
import type { Store } from '../../store/open-store.ts'
import type { Db } from '../../store/schema.ts'
import type { TransactionRow } from '../../store/transactions.ts'
import { findTransferOf } from '../../store/transfers.ts'
import type { Settled } from '../settle.ts'
import { nextTokenId } from './lost.ts'

const CANCELLED = 'the operator of this backend cancelled its transaction'

/** An operator had a transaction's nonce used by an empty one, for good: what it was to do has failed. */
export async function settleCancelled(settlement: {
  store: Store
  network: EvmNetwork
  transaction: TransactionRow
  receipt: EvmReceipt
  log: Log
}): Promise<Settled> {
  const { store, transaction, receipt, log } = settlement
  const apply = await plan(settlement)
  const settled = await store.transaction(async (db) => {
    const ours = await endTransaction(db, transaction, {
      state: 'cancelled',
      hash: receipt.transactionHash,
      block_number: Number(receipt.blockNumber),
      block_hash: receipt.blockHash,
      gas_used: String(receipt.gasUsed),
    })
    if (ours) await apply(db)
    return ours
  })
  if (settled) log.info({ transaction: transaction.id, kind: transaction.kind }, 'a transaction is cancelled')
  return settled ? 'settled' : 'taken'
}

async function plan({
  store,
  network,
  transaction,
}: {
  store: Store
  network: EvmNetwork
  transaction: TransactionRow
}) {
  const { id, kind, collection_id: collectionId } = transaction
  if (kind === 'transfer') {
    const transfer = await findTransferOf(store.db, id)
    return async (db: Db) => {
      if (transfer !== null) await endTransfer(db, transfer.id, { status: 'failed', error: CANCELLED })
    }
  }
  if (collectionId === null) return async () => {}
  if (kind === 'collection') {
    return (db: Db) => failCollection(db, collectionId, CANCELLED)
  }
  const next = await nextTokenId(store, network, transaction, collectionId)
  return async (db: Db) => {
    await failBatch(db, id, CANCELLED)
    await updateCollection(db, collectionId, { next_token_id: String(next) })
  }
}
