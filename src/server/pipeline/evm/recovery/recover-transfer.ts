import { type MinedTransaction, readMinedTransaction } from '../../../chain/evm/mined-transaction.ts'
import type { EvmNetwork, Hex } from '../../../chain/evm/network.ts'
import { isOperator } from '../../../chain/evm/registry.ts'
import type { Store } from '../../../store/open-store.ts'
import { assignTransfers, unknownMovesOf } from '../../../store/transfers.ts'
import type { SignedTransaction } from '../../driver.ts'
import { readBlock } from '../follow-owners.ts'
import { transferCall } from '../transfer-call.ts'
import { adoptTransaction } from './adopt.ts'

/** The clock of a network and that of a machine may differ by so much. */
const CLOCKS_APART_MS = 60_000

/**
 * The transaction by which one of our operators made a pending transfer already: it follows a backup that was restored,
 * or its commit was lost. Null where there is none. A move of the same token from before the request isn't it.
 */
export async function findMadeTransfer(
  store: Store,
  network: EvmNetwork,
  transferId: string,
): Promise<MinedTransaction | null> {
  for (const { transaction_hash, factory_address, accepted_at, ...transfer } of await unknownMovesOf(
    store.db,
    transferId,
  )) {
    const mined = await readMinedTransaction(network, transaction_hash as Hex)
    if (mined === null || mined.raw === null) continue
    const { to, data } = transferCall(transfer)
    if (mined.to !== to || mined.data !== data) continue
    const block = await readBlock(network, mined.blockNumber)
    if (block === null || Number(block.timestamp) * 1000 < Number(accepted_at) - CLOCKS_APART_MS) continue
    // The sender may move the token with the same call.
    if (await isOperator(network, factory_address as Hex, mined.signer)) return mined
  }
  return null
}

/** Gives a pending transfer the transaction that made it, to be settled as if it had been signed for it. */
export async function adoptTransfer(
  store: Store,
  network: EvmNetwork,
  transferId: string,
  { hash, raw, signer, nonce }: MinedTransaction,
  now: number,
): Promise<SignedTransaction | null> {
  if (raw === null) return null
  const { blockchain } = network
  return await store.transaction(async (db) => {
    const what = { kind: 'transfer', collectionId: null } as const
    const signed = await adoptTransaction(db, { blockchain, hash, raw, signer, nonce }, what, now)
    if (signed === null) return null
    const assigned = await assignTransfers(db, [{ id: transferId, transactionId: signed.id }])
    if (assigned !== 1) throw new Error('a transfer was signed meanwhile')
    return signed
  })
}
