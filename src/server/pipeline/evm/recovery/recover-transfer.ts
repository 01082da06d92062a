import { type MinedTransaction, readMinedTransaction } from '../../../chain/evm/mined-transaction.ts'
import type { EvmNetwork, Hex } from '../../../chain/evm/network.ts'
import { isOperator } from '../../../chain/evm/registry.ts'
import type { Store } from '../../../store/open-store.ts'
import type { TransferKind } from '../../../store/schema.ts'
import { assignTransfers, listUnknownMoves } from '../../../store/transfers.ts'
import type { SignedTransaction } from '../../driver.ts'
import { readBlock } from '../follow-owners.ts'
import { findLimitedRunOfEachRow } from '../limited-runs.ts'
import { transferCall } from '../transfer-call.ts'
import { adoptTransaction } from './adopt.ts'

/** Maximum difference in milliseconds between the clocks of a network and of a machine. */
const MAX_CLOCK_SKEW_MS = 60_000

/**
 * Finds the transaction with which an operator of this backend has already made a pending transfer. The database
 * doesn't have the transaction, because the transaction was made after the restored backup or its commit was lost.
 * Returns null if there is none. An identical transfer from before the request doesn't count.
 */
export async function findMinedTransfer(
  store: Store,
  network: EvmNetwork,
  transferId: string,
): Promise<MinedTransaction | null> {
  for (const { transaction_hash, factory_address, accepted_at, ...transfer } of await listUnknownMoves(
    store.db,
    transferId,
  )) {
    const mined = await readMinedTransaction(network, transaction_hash as Hex)
    if (mined === null || mined.raw === null) continue
    const { to, data } = transferCall(transfer)
    if (mined.to !== to || mined.data !== data) continue
    const block = await readBlock(network, mined.blockNumber)
    if (block === null || Number(block.timestamp) * 1000 < Number(accepted_at) - MAX_CLOCK_SKEW_MS) continue
    // Check the signer, because the NFT's sender can make the same call.
    if (await isOperator(network, factory_address as Hex, mined.signer)) return mined
  }
  return null
}

/**
 * Adopts the transaction that was found for a pending transfer. The transaction is then settled as if it had just been
 * signed.
 */
export async function adoptTransfer(
  store: Store,
  network: EvmNetwork,
  transfer: { id: string; kind: TransferKind; request_id: string; collection_id: string },
  { hash, raw, signer, nonce }: MinedTransaction,
  now: number,
): Promise<SignedTransaction | null> {
  if (raw === null) return null
  const { blockchain } = network
  return await store.transaction(async (db) => {
    const [run = null] = await findLimitedRunOfEachRow(db, transfer.collection_id, [transfer])
    const content = { kind: transfer.kind, collectionId: null, run }
    const signed = await adoptTransaction(db, { blockchain, hash, raw, signer, nonce }, content, now)
    if (signed === null) return null
    const assigned = await assignTransfers(db, [{ id: transfer.id, transactionId: signed.id }])
    if (assigned !== 1) throw new Error('a transfer was signed in the meantime')
    return signed
  })
}
