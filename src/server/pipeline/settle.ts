import { numberToHex, parseTransaction } from 'viem'
import { type CollectionState, readCollectionState } from '../chain/evm/collection-reads.ts'
import type { EvmNetwork, EvmReceipt, Hex } from '../chain/evm/network.ts'
import type { Log } from '../log.ts'
import { deployCollection, failCollection } from '../state/collections.ts'
import {
  deployNfts,
  failBatch,
  failGrantsOfCollection,
  failNftsOfCollection,
  returnBatchToMint,
} from '../state/nfts.ts'
import { endTransaction } from '../state/transactions.ts'
import { type AttemptRow, attemptsOf } from '../store/attempts.ts'
import { type CollectionRow, findCollectionById, updateCollection } from '../store/collections.ts'
import { countRevert } from '../store/nfts.ts'
import type { Store } from '../store/open-store.ts'
import { lockOwners } from '../store/owner-events.ts'
import { requestsOfTransaction } from '../store/requests.ts'
import type { Db, TransactionKind } from '../store/schema.ts'
import { followsUnfinal, type TransactionRow } from '../store/transactions.ts'
import { nextKnownTokenId } from '../store/unknown-mints.ts'
import { atFinality, type Call, judgeRevert, PASSING_REVERTS } from './judge-revert.ts'
import { planTransfer } from './settle-transfer.ts'

interface Settlement {
  store: Store
  network: EvmNetwork
  transaction: TransactionRow
  receipt: EvmReceipt
  log: Log
}

/** `taken`: another worker has settled it. `undecided`: what a revert means depends on blocks that aren't final yet. */
export type Settled = 'settled' | 'taken' | 'undecided'

/** Writes down what a final receipt means. */
export async function settle({ store, network, transaction, receipt, log }: Settlement): Promise<Settled> {
  const apply = await plan({ store, network, transaction, receipt })
  if (apply === null) return 'undecided'
  const requests = await requestsOfTransaction(store.db, transaction)
  const settled = await store.transaction(async (db) => {
    await lockOwners(db, transaction.blockchain, 'shared')
    const ours = await endTransaction(db, transaction, {
      state: receipt.status === 'success' ? 'final' : 'reverted',
      block_number: Number(receipt.blockNumber),
      block_hash: receipt.blockHash,
      gas_used: String(receipt.gasUsed),
      ...(network.publicNetwork === undefined ? {} : await minedAs(db, transaction, receipt)),
    })
    if (ours) await apply(db)
    return ours
  })
  if (settled) {
    const { id, blockchain, hash, kind } = transaction
    const { status, blockNumber, gasUsed } = receipt
    const facts = { blockchain, transaction: id, hash, kind, status, block: Number(blockNumber), gas: Number(gasUsed) }
    if (status === 'reverted') log.warn({ blockchain, transaction: id, hash, kind }, 'a transaction reverted')
    log.info({ ...facts, requests }, 'a transaction is final')
  }
  return settled ? 'settled' : 'taken'
}

/** Which attempt was mined; and that a success is watched until its block can't be undone any more. */
async function minedAs(db: Db, { id }: TransactionRow, receipt: EvmReceipt) {
  const mined = await minedAttempt(db, id, receipt)
  const watched = receipt.status === 'success' ? 1 : 0
  return mined === undefined ? { watched } : { watched, hash: mined.hash, raw: mined.raw }
}

async function minedAttempt(db: Db, id: string, { transactionHash }: EvmReceipt): Promise<AttemptRow | undefined> {
  return (await attemptsOf(db, [id])).get(id)?.find(({ hash }) => hash === transactionHash)
}

async function plan({ store, network, transaction, receipt }: Omit<Settlement, 'log'>): Promise<Apply | null> {
  if (transaction.kind === 'transfer') return planTransfer({ store, network, transaction, receipt })
  if (receipt.status === 'reverted') return planRevert({ store, network, transaction, receipt })
  return (db) => settleSuccess(db, transaction)
}

async function settleSuccess(db: Db, { id, kind, collection_id }: TransactionRow): Promise<void> {
  if (kind === 'collection' && collection_id !== null) await deployCollection(db, collection_id)
  if ((kind === 'mint' || kind === 'grant') && collection_id !== null) {
    await deployNfts(db, [id])
    await updateCollection(db, collection_id, { batch_limit: null })
  }
}

type Apply = (db: Db) => Promise<void>

/**
 * After a revert the collection's state on chain decides: rights that are gone fail what waits, a start id that others
 * used up is signed anew, and any other batch is halved until the NFT that is at fault stands alone. On a network that
 * undoes blocks, what wouldn't revert any more is signed anew as well: a reorg had put it before the batch that it follows.
 * Null while a reorg can still undo what decides.
 */
async function planRevert({ store, network, transaction, receipt }: Omit<Settlement, 'log'>): Promise<Apply | null> {
  const { kind, collection_id: collectionId, token_count: count } = transaction
  if (kind === 'factory' || collectionId === null) return async () => {}
  const isPublic = network.publicNetwork !== undefined
  if (isPublic && (await followsUnfinal(store.db, transaction))) return null
  const collection = await findCollectionById(store.db, collectionId)
  if (collection === null) return async () => {}
  // A node that is behind may not have the collection, nor the rights that were given last; of a block that it lacks it
  // tells nothing.
  const block = network.publicNetwork === undefined ? 'latest' : numberToHex(await network.publicNetwork.head())
  const state = await readCollectionState(network, collection.contract_address as Hex, block)

  if (kind === 'collection') {
    if (state !== null) return (db) => deployCollection(db, collectionId)
    return async (db) => {
      const reason = `the collection could not be deployed: its transaction ${transaction.hash} reverted`
      await failCollection(db, collectionId, reason)
    }
  }
  if (state === null) {
    if (collection.status === 'failed') return async () => {}
    if (isPublic && collection.status === 'initiated') return null
    // An address without code can't revert: this node is behind.
    throw new Error(`the node doesn't have the collection ${collection.contract_address}`)
  }
  // Tokens from the batch's start on that the database doesn't know: the recovery step looks into them before anything is
  // signed again.
  if (transaction.start_id !== null && state.nextTokenId > BigInt(transaction.start_id)) {
    const batch = { id: collectionId, startId: BigInt(transaction.start_id) }
    const nextTokenId = await nextKnownTokenId(store.db, batch, state.nextTokenId)
    return (db) => signAnew(db, { collection, transaction, nextTokenId, limit: collection.batch_limit })
  }
  const next_token_id = String(state.nextTokenId)
  const refusal = refusalOf(kind, state)
  if (refusal !== null) {
    if (!(await isRefusedAtFinality(network, collection, kind))) return null
    return async (db) => {
      await updateCollection(db, collectionId, { next_token_id })
      if (refusal.fails === 'all') await failNftsOfCollection(db, collectionId, refusal.reason)
      else await failGrantsOfCollection(db, collectionId, refusal.reason)
    }
  }
  const { nextTokenId } = state
  const stale = String(nextTokenId) !== transaction.start_id
  const call = stale ? null : await callOf(store.db, transaction, receipt)
  const verdict = call === null ? 'never' : await judgeRevert(network, call)
  if (verdict === 'wait') return null
  return async (db) => {
    if (stale) return signAnew(db, { collection, transaction, nextTokenId, limit: collection.batch_limit })
    if (verdict === 'again' && (await countRevert(db, transaction.id)) <= PASSING_REVERTS) {
      return signAnew(db, { collection, transaction, nextTokenId, limit: collection.batch_limit })
    }
    if (count > 1) {
      return signAnew(db, { collection, transaction, nextTokenId, limit: Math.max(1, Math.floor(count / 2)) })
    }
    await failBatch(db, transaction.id, `the network refused to mint it: its transaction ${transaction.hash} reverted`)
    await updateCollection(db, collectionId, { next_token_id, batch_limit: 1 })
  }
}

/** Why the collection's owner no longer lets the service create these NFTs; null where the owner does. */
function refusalOf(kind: TransactionKind, state: CollectionState): { fails: 'all' | 'grants'; reason: string } | null {
  if (state.revoked) return { fails: 'all', reason: "the collection's owner has revoked the service's right to mint" }
  if (!state.enableApi) {
    return { fails: 'all', reason: "the collection's owner has switched off creating NFTs through the API" }
  }
  if (kind !== 'grant' || state.enableTransfer) return null
  return { fails: 'grants', reason: "the collection's owner has switched off transferring NFTs through the API" }
}

/** Whether no reorg can give the rights back. True where no node keeps the state that tells. */
async function isRefusedAtFinality(
  network: EvmNetwork,
  { contract_address }: CollectionRow,
  kind: TransactionKind,
): Promise<boolean> {
  if (network.publicNetwork === undefined) return true
  const isRefused = await atFinality(network.publicNetwork, async (block) => {
    const state = await readCollectionState(network, contract_address as Hex, block)
    return state !== null && refusalOf(kind, state) !== null
  })
  return isRefused ?? true
}

/**
 * What reverted. Of several attempts the one in the block: a later one may be empty, a cancellation that came too late.
 * Null where the bytes can't be read: then nothing is known of the next time.
 */
async function callOf(db: Db, { id, raw, signer }: TransactionRow, receipt: EvmReceipt): Promise<Call | null> {
  const mined = await minedAttempt(db, id, receipt)
  try {
    const { to, data = '0x', gas = 0n } = parseTransaction((mined?.raw ?? raw) as Hex)
    return to ? { from: signer as Hex, to, data, gas } : null
  } catch {
    return null
  }
}

/** What the batch holds waits for another, of at most so many. */
async function signAnew(
  db: Db,
  of: { collection: CollectionRow; transaction: TransactionRow; nextTokenId: bigint; limit: number | null },
): Promise<void> {
  await returnBatchToMint(db, of.transaction.id)
  await updateCollection(db, of.collection.id, { next_token_id: String(of.nextTokenId), batch_limit: of.limit })
}
