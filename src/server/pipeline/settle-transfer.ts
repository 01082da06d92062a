import { readCollectionState, readOwnerOf } from '../chain/evm/collection-reads.ts'
import type { EvmNetwork, EvmReceipt, Hex } from '../chain/evm/network.ts'
import { setOwner } from '../store/nfts.ts'
import type { Store } from '../store/open-store.ts'
import { findCursor } from '../store/owner-events.ts'
import type { Db } from '../store/schema.ts'
import type { TransactionRow } from '../store/transactions.ts'
import { endTransfer, findTransferOf } from '../store/transfers.ts'

interface Settlement {
  store: Store
  network: EvmNetwork
  transaction: TransactionRow
  receipt: EvmReceipt
}

type Apply = (db: Db) => Promise<void>

/** What a transfer's final receipt changes. */
export async function planTransfer({ store, network, transaction, receipt }: Settlement): Promise<Apply> {
  const transfer = await findTransferOf(store.db, transaction.id)
  if (transfer === null) return async () => {}
  if (receipt.status === 'reverted') {
    const error = await reasonOf(network, transfer, transaction)
    return (db) => endTransfer(db, transfer.id, { status: 'failed', error })
  }
  return async (db) => {
    await endTransfer(db, transfer.id, { status: 'deployed' })
    // Whoever hears that it is done finds the new owner. Where the follower was here before, it has said so, and may
    // know of a later owner even.
    const followed = (await findCursor(db, network.blockchain))?.block_number ?? -1
    const block = Number(receipt.blockNumber)
    if (followed < block) await setOwner(db, transfer.nft_id, transfer.receiver, block)
  }
}

/** Why it reverted, by what the chain says now. Nothing was moved, so it isn't tried again: the client decides. */
async function reasonOf(
  network: EvmNetwork,
  transfer: NonNullable<Awaited<ReturnType<typeof findTransferOf>>>,
  { hash }: TransactionRow,
): Promise<string> {
  const { contract_address, token_id, sender } = transfer
  const collection = contract_address as Hex
  const state = await readCollectionState(network, collection)
  if (state?.revoked) return "the collection's owner has revoked the service's right to transfer"
  if (state?.enableTransfer === false) {
    return "the collection's owner has switched off transferring NFTs through the API"
  }
  const owner = state === null ? sender : await readOwnerOf(network, collection, BigInt(token_id ?? 0))
  if (owner !== sender) return `the NFT no longer belonged to the sender ${sender}: its owner is ${owner}`
  return `the network refused to transfer it: its transaction ${hash} reverted`
}
