import { readCollectionState, readOwnerOf } from '../chain/evm/collection-reads.ts'
import type { EvmNetwork, EvmReceipt, Hex } from '../chain/evm/network.ts'
import { RpcError } from '../chain/rpc/rpc-answer.ts'
import { endTransfer } from '../state/transfers.ts'
import { setOwner } from '../store/nfts.ts'
import type { Store } from '../store/open-store.ts'
import { findCursor } from '../store/owner-events.ts'
import type { Db } from '../store/schema.ts'
import type { TransactionRow } from '../store/transactions.ts'
import {
  countTransferRevert,
  findTransferOf,
  followsUnfinal,
  forgetReverts,
  returnTransfer,
} from '../store/transfers.ts'
import { judgeRevert, PASSING_REVERTS, type RevertVerdict } from './judge-revert.ts'
import { findMadeTransfer } from './recovery/recover-transfer.ts'
import { transferCall } from './transfer-call.ts'

interface Settlement {
  store: Store
  network: EvmNetwork
  transaction: TransactionRow
  receipt: EvmReceipt
}

type Apply = (db: Db) => Promise<void>
type Transfer = NonNullable<Awaited<ReturnType<typeof findTransferOf>>>

/** What a transfer's final receipt changes. Null while a reorg can still undo what decides. */
export async function planTransfer({ store, network, transaction, receipt }: Settlement): Promise<Apply | null> {
  const transfer = await findTransferOf(store.db, transaction.id)
  if (transfer === null) return async () => {}
  const { id, nft_id, receiver, reverts } = transfer
  const reverted = receipt.status === 'reverted'
  if (reverted && (await followsReorg(store, network, transfer))) return (db) => returnTransfer(db, transaction.id)
  const verdict = reverted ? await judge(network, transfer, transaction) : null
  if (verdict === 'wait') return null
  if (verdict === 'again') {
    return async (db) => {
      await countTransferRevert(db, nft_id)
      await returnTransfer(db, transaction.id)
    }
  }
  // It was made already, by a transaction that the database had lost: that one settles it.
  if (reverted && network.publicNetwork !== undefined && (await findMadeTransfer(store, network, id)) !== null) {
    return async (db) => returnTransfer(db, transaction.id)
  }
  const error = reverted ? await reasonOf(network, transfer, transaction) : null
  return async (db) => {
    if (reverts > 0) await forgetReverts(db, nft_id)
    if (error !== null) return endTransfer(db, id, { status: 'failed', error })
    await endTransfer(db, id, { status: 'deployed' })
    // Whoever hears that it is done finds the new owner. Where the follower was here before, it has said so, and may
    // know of a later owner even.
    const followed = (await findCursor(db, network.blockchain))?.block_number ?? -1
    const block = Number(receipt.blockNumber)
    if (followed < block) await setOwner(db, nft_id, receiver, block)
  }
}

/**
 * Whether a reorg may have put what reverted before the mint of its token, or before an earlier transfer. It is signed
 * anew once both are there. Its nonce is used up for good, so that it can't be made twice.
 */
async function followsReorg(store: Store, network: EvmNetwork, transfer: Transfer): Promise<boolean> {
  if (network.publicNetwork === undefined || transfer.nft_status === 'failed') return false
  return transfer.nft_status === 'initiated' || (await followsUnfinal(store.db, transfer))
}

/** Whether what reverted may yet be done, though all that it follows is final. */
async function judge(network: EvmNetwork, transfer: Transfer, { signer }: TransactionRow): Promise<RevertVerdict> {
  const { nft_status, reverts } = transfer
  if (nft_status === 'failed' || reverts >= PASSING_REVERTS) return 'never'
  return await judgeRevert(network, { from: signer as Hex, ...transferCall(transfer) })
}

/** Why it reverted, by what the chain says now. Nothing was moved, and it isn't tried again: the client decides. */
async function reasonOf(network: EvmNetwork, transfer: Transfer, { hash }: TransactionRow): Promise<string> {
  const { contract_address, token_id, sender } = transfer
  const collection = contract_address as Hex
  const state = await readCollectionState(network, collection)
  if (state?.revoked) return "the collection's owner has revoked the service's right to transfer"
  if (state?.enableTransfer === false) {
    return "the collection's owner has switched off transferring NFTs through the API"
  }
  const owner =
    state === null || token_id === null ? null : await readOwnerOf(network, collection, BigInt(token_id)).catch(noToken)
  const isSenders = owner === null || owner === sender
  if (!isSenders) return `the NFT no longer belonged to the sender ${sender}: its owner is ${owner}`
  return `the network refused to transfer it: its transaction ${hash} reverted`
}

/** A reorg has undone it, or this node is behind. */
function noToken(error: unknown): null {
  if (error instanceof RpcError) return null
  throw error
}
