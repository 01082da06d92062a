import { numberToHex, parseTransaction } from 'viem'
import { readCollectionState } from '../chain/evm/collection-reads.ts'
import type { EvmNetwork, EvmReceipt, Hex } from '../chain/evm/network.ts'
import type { Log } from '../log.ts'
import { deployCollection, failCollection } from '../state/collections.ts'
import {
  deployBatch,
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
import type { Db } from '../store/schema.ts'
import type { TransactionRow } from '../store/transactions.ts'
import { nextKnownTokenId } from '../store/unknown-mints.ts'
import { planTransfer } from './settle-transfer.ts'
import { type Call, PASSING_REVERTS, wouldSucceed } from './would-succeed.ts'

interface Settlement {
  store: Store
  network: EvmNetwork
  transaction: TransactionRow
  receipt: EvmReceipt
  log: Log
}

/** Writes down what a final receipt means. False if another worker has done so. */
export async function settle({ store, network, transaction, receipt, log }: Settlement): Promise<boolean> {
  const apply = await plan({ store, network, transaction, receipt, log })
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
    log.info({ ...facts, requests }, 'a transaction is final')
  }
  return settled
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

async function plan({ store, network, transaction, receipt, log }: Settlement): Promise<Apply> {
  const { id, blockchain, hash, kind } = transaction
  if (receipt.status === 'reverted') log.warn({ blockchain, transaction: id, hash, kind }, 'a transaction reverted')
  if (kind === 'transfer') return planTransfer({ store, network, transaction, receipt })
  if (receipt.status === 'reverted') return planRevert({ store, network, transaction, receipt })
  return (db) => settleSuccess(db, transaction)
}

async function settleSuccess(db: Db, { id, kind, collection_id, start_id, directory }: TransactionRow): Promise<void> {
  if (kind === 'collection' && collection_id !== null) await deployCollection(db, collection_id)
  if ((kind === 'mint' || kind === 'grant') && collection_id !== null && start_id !== null && directory !== null) {
    await deployBatch(db, { transactionId: id, startId: start_id, directory })
    await updateCollection(db, collection_id, { batch_limit: null })
  }
}

type Apply = (db: Db) => Promise<void>

/**
 * After a revert the collection's state on chain decides: rights that are gone fail what waits, a start id that others
 * used up is signed anew, and any other batch is halved until the NFT that is at fault stands alone. On a network that
 * undoes blocks, what wouldn't revert any more is signed anew as well: a reorg had put it before the batch that it follows.
 */
async function planRevert({ store, network, transaction, receipt }: Omit<Settlement, 'log'>): Promise<Apply> {
  const { kind, collection_id: collectionId, token_count: count } = transaction
  if (kind === 'factory' || collectionId === null) return async () => {}
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
  // An address without code can't revert: this node is behind.
  if (state === null) throw new Error(`the node doesn't have the collection ${collection.contract_address}`)
  // Tokens from the batch's start on that the database doesn't know: the recovery step looks into them before anything is
  // signed again.
  if (transaction.start_id !== null && state.nextTokenId > BigInt(transaction.start_id)) {
    const batch = { id: collectionId, startId: BigInt(transaction.start_id) }
    const nextTokenId = await nextKnownTokenId(store.db, batch, state.nextTokenId)
    return (db) => signAnew(db, { collection, transaction, nextTokenId, limit: collection.batch_limit })
  }
  const next_token_id = String(state.nextTokenId)
  if (state.revoked || !state.enableApi) {
    const reason = state.revoked
      ? "the collection's owner has revoked the service's right to mint"
      : "the collection's owner has switched off creating NFTs through the API"
    return async (db) => {
      await updateCollection(db, collectionId, { next_token_id })
      await failNftsOfCollection(db, collectionId, reason)
    }
  }
  if (kind === 'grant' && !state.enableTransfer) {
    return async (db) => {
      await updateCollection(db, collectionId, { next_token_id })
      const reason = "the collection's owner has switched off transferring NFTs through the API"
      await failGrantsOfCollection(db, collectionId, reason)
    }
  }
  const { nextTokenId } = state
  const stale = String(nextTokenId) !== transaction.start_id
  const call = stale ? null : await callOf(store.db, transaction, receipt)
  const passing = call !== null && (await wouldSucceed(network, call))
  return async (db) => {
    if (stale) return signAnew(db, { collection, transaction, nextTokenId, limit: collection.batch_limit })
    if (passing && (await countRevert(db, transaction.id)) <= PASSING_REVERTS) {
      return signAnew(db, { collection, transaction, nextTokenId, limit: collection.batch_limit })
    }
    if (count > 1) {
      return signAnew(db, { collection, transaction, nextTokenId, limit: Math.max(1, Math.floor(count / 2)) })
    }
    await failBatch(db, transaction.id, `the network refused to mint it: its transaction ${transaction.hash} reverted`)
    await updateCollection(db, collectionId, { next_token_id, batch_limit: 1 })
  }
}

/**
 * What reverted. Of several attempts the one in the block: a later one may be empty, an operator's wish that came too
 * late. Null where the bytes can't be read: then nothing is known of the next time.
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
