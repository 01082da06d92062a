import { readCollectionState, readOwnerOf } from '../../chain/evm/collection-reads.ts'
import type { EvmNetwork, Hex } from '../../chain/evm/network.ts'
import { RpcError } from '../../chain/rpc/rpc-response.ts'
import type { Store } from '../../store/open-store.ts'
import type { TransactionRow } from '../../store/transactions.ts'
import { findTransferByTransaction, transferFollowsUnfinal } from '../../store/transfers.ts'
import type { OutcomeVerdict, TransactionOutcome } from '../driver.ts'
import { judgeRevertedCall, MAX_TEMPORARY_REVERTS, type RevertVerdict } from './judge-reverted-call.ts'
import { findMinedTransfer } from './recovery/recover-transfer.ts'
import { transferCall } from './transfer-call.ts'

/** A transaction with changes, and its outcome. */
export interface ChangeJudgeContext {
  store: Store
  network: EvmNetwork
  transaction: TransactionRow
  outcome: TransactionOutcome
}

type Transfer = NonNullable<Awaited<ReturnType<typeof findTransferByTransaction>>>

/** Decides what the outcome of a transaction with a transfer or burn means. */
export async function judgeTransfer({
  store,
  network,
  transaction,
  outcome,
}: ChangeJudgeContext): Promise<OutcomeVerdict> {
  if (outcome.state === 'final') return { kind: 'done' }
  const transfer = await findTransferByTransaction(store.db, transaction.id)
  if (transfer === null) return { kind: 'none' }
  if (await followsReorg(store, network, transfer)) return { kind: 'again' }
  const reverted = await judge(network, transfer, transaction)
  if (reverted === 'wait') return { kind: 'wait', waitMs: network.publicNetwork?.pollMs ?? 0 }
  if (reverted === 'again') return { kind: 'again', counted: true }
  // Another transaction, which the database doesn't have, has already made the transfer. The transfer step adopts it.
  if (network.publicNetwork !== undefined && (await findMinedTransfer(store, network, transfer.id)) !== null) {
    return { kind: 'again' }
  }
  return { kind: 'failed', error: await findRevertReason(network, transfer, transaction) }
}

/**
 * Returns whether a reorg may have placed the reverted transfer before the mint of its token or before an earlier
 * transfer. If so, the transfer is signed again once these transactions are mined. The reverted transaction can't be
 * executed again, because its nonce is used.
 */
async function followsReorg(store: Store, network: EvmNetwork, transfer: Transfer): Promise<boolean> {
  if (network.publicNetwork === undefined || transfer.nft_status === 'failed') return false
  return transfer.nft_status === 'initiated' || (await transferFollowsUnfinal(store.db, transfer))
}

/** Judges a reverted transfer whose dependencies are all final. */
async function judge(network: EvmNetwork, transfer: Transfer, { signer }: TransactionRow): Promise<RevertVerdict> {
  const { nft_status, reverts } = transfer
  if (nft_status === 'failed' || reverts >= MAX_TEMPORARY_REVERTS) return 'never'
  return await judgeRevertedCall(network, { from: signer as Hex, ...transferCall(transfer) })
}

/**
 * Returns why a transfer reverted, according to the chain's current state. Nothing was transferred, and only the client
 * decides whether to retry.
 */
async function findRevertReason(network: EvmNetwork, transfer: Transfer, { hash }: TransactionRow): Promise<string> {
  const { contract_address, token_id, sender, kind } = transfer
  const collection = contract_address as Hex
  const state = await readCollectionState(network, collection)
  if (state?.revoked) return `the collection's owner has revoked the service's right to ${kind}`
  if (kind === 'burn' && state?.enableApi === false) return "the collection's owner has disabled enable_api"
  if (kind === 'transfer' && state?.enableTransfer === false) {
    return "the collection's owner has disabled transfers of NFTs through the API"
  }
  const owner =
    state === null || token_id === null
      ? null
      : await readOwnerOf(network, collection, BigInt(token_id)).catch(nullOnRpcError)
  const isSenders = owner === null || owner === sender
  if (!isSenders) return `the NFT no longer belonged to the sender ${sender}: its owner is ${owner}`
  return `the ${kind} failed on the network: its transaction ${hash} reverted`
}

/**
 * Returns null if a node rejects the request, because a reorg has removed the token or the node lags. Rethrows any
 * other error.
 */
function nullOnRpcError(error: unknown): null {
  if (error instanceof RpcError) return null
  throw error
}
