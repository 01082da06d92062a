import { numberToHex } from 'viem'
import type { EvmBlockchain } from '../../../../api/blockchains.ts'
import { directoryCid } from '../../../../ipfs/cid.ts'
import { updateTopics } from '../../../chain/evm/collection-events.ts'
import { decodeUpdate, type UpdateCall } from '../../../chain/evm/collection-updates.ts'
import { isSameCall, type MinedTransaction, readMinedTransaction } from '../../../chain/evm/mined-transaction.ts'
import type { EvmNetwork, Hex, RawLog } from '../../../chain/evm/network.ts'
import { RpcError } from '../../../chain/rpc/rpc-response.ts'
import { assignUpdates } from '../../../state/updates.ts'
import { putBlocks } from '../../../store/block-table.ts'
import { type CollectionRow, lockCollection, updateCollection } from '../../../store/collections.ts'
import type { Store } from '../../../store/open-store.ts'
import type { Db } from '../../../store/schema.ts'
import { findTransactionByNonce } from '../../../store/transactions.ts'
import { findBlockOfLastUpdate, listUnsignedUpdates, recordUnknownUpdate } from '../../../store/updates.ts'
import type { OnSigned } from '../../driver.ts'
import { buildUpdateDirectory } from '../../metadata-file.ts'
import { type FileSources, storeFilesAgain } from '../../store-files-again.ts'
import { takeRowsOfOneRun } from '../limited-runs.ts'
import { createEventQueryRange } from '../public-network/event-query-range.ts'
import { adoptAttempt, adoptTransaction } from './adopt.ts'

export interface RecoverUpdateOptions extends FileSources {
  store: Store
  blockchain: EvmBlockchain
  network: EvmNetwork
  now: () => number
  onSigned: OnSigned
}

/**
 * Examines the first update of a collection that is on chain but not in the database, because the database was restored
 * or a failover lost commits. If pending updates match the update on chain, they get its transaction. Otherwise, the
 * update's NFTs get its revision, so that clients detect the update.
 *
 * @returns true if something was written
 */
export async function recoverUpdate(options: RecoverUpdateOptions, collection: CollectionRow): Promise<boolean> {
  const { store, blockchain, network, log, now } = options
  const sequence = collection.update_count + 1
  const minedUpdate = await findUpdate(store.db, network, collection, sequence)
  if (minedUpdate === null) return false
  const { mined, call } = minedUpdate
  const sameNonce = await findTransactionByNonce(store.db, blockchain, mined.signer, mined.nonce)
  if (sameNonce?.state === 'signed') {
    // If the pending transaction makes another call, it can no longer be mined. It will be settled as lost, and its
    // rows will be pending again.
    const { hash, raw } = mined
    if (raw === null || !isSameCall(sameNonce.raw as Hex, mined) || sameNonce.hash === hash) return false
    await store.transaction((db) => adoptAttempt(db, sameNonce, { hash, raw }, now()))
    return true
  }
  const updates = await listUnsignedUpdates(store.db, collection.id, call.tokenIds.map(String))
  // Metadata can only be compared once its files are stored.
  if (updates.some(({ step }) => step === 'files')) return false
  const isComplete = updates.length === call.tokenIds.length
  const directory = isComplete ? await buildUpdateDirectory(updates) : null
  const logFields = { blockchain, collection: collection.id, hash: mined.hash, sequence, nfts: call.tokenIds.length }
  if (directory?.digest !== call.digest || mined.raw === null) {
    await store.transaction(async (db) => {
      if (!(await lockIfUnchanged(db, collection))) return
      const cid = directoryCid(call.digest).toString()
      await recordUnknownUpdate(db, {
        collectionId: collection.id,
        sequence,
        directory: cid,
        tokenIds: call.tokenIds,
        blockchain,
        block_number: mined.blockNumber,
        transaction_hash: mined.hash,
      })
      await updateCollection(db, collection.id, { update_count: sequence })
    })
    log.error(logFields, 'an NFT update on chain is unknown to this backend: its revision was recorded for the NFTs')
    return true
  }
  for (const { nft: id, metadata, files } of updates) await storeFilesAgain(options, { id, metadata, files })
  const { hash, raw, signer, nonce } = mined
  const adopted = await store.transaction(async (db) => {
    if (!(await lockIfUnchanged(db, collection))) return null
    const update = { sequence, count: updates.length, directory: directory.cid }
    const { run } = await takeRowsOfOneRun(db, collection.id, updates)
    const content = { kind: 'update', collectionId: null, run, update } as const
    const signed = await adoptTransaction(db, { blockchain, hash, raw, signer, nonce }, content, now())
    if (signed === null) return null
    const seqs = updates.map(({ seq }) => seq)
    if ((await assignUpdates(db, seqs, signed.id)) !== seqs.length)
      throw new Error('an update was signed in the meantime')
    await updateCollection(db, collection.id, { update_count: sequence })
    await putBlocks(db, directory.blocks, store.publishTo)
    return signed
  })
  if (adopted === null) return false
  log.warn(
    logFields,
    'an update on chain that was missing from the database was recognized by its metadata and adopted',
  )
  options.onSigned([adopted], [...new Set(updates.map(({ request_id }) => request_id))])
  return true
}

/** Locks the collection. Returns false if another process has signed or examined an update in the meantime. */
const lockIfUnchanged = async (db: Db, { id, update_count }: CollectionRow): Promise<boolean> =>
  (await lockCollection(db, id))?.update_count === update_count

/**
 * Finds the transaction of an update by its sequence number. Returns null if no node has the transaction or its block
 * isn't deep enough yet.
 */
async function findUpdate(
  db: Db,
  network: EvmNetwork,
  collection: CollectionRow,
  sequence: number,
): Promise<{ mined: MinedTransaction; call: UpdateCall } | null> {
  const { publicNetwork } = network
  if (publicNetwork === undefined) return null
  const last = (await publicNetwork.head()) - network.confirmations + 1
  const range = createEventQueryRange()
  const seenHashes = new Set<Hex>()
  let from = Math.max(0, (await findBlockOfLastUpdate(db, collection)) - publicNetwork.finality)
  while (from <= last) {
    const to = Math.min(last, from + range.blocks - 1)
    const filter = { fromBlock: numberToHex(from), toBlock: numberToHex(to), topics: [updateTopics] }
    let logs: RawLog[]
    try {
      logs = await network.request('eth_getLogs', [{ ...filter, address: collection.contract_address as Hex }])
    } catch (error) {
      if (error instanceof RpcError && range.recordRejection(to - from + 1, error.message)) continue
      throw error
    }
    for (const { transactionHash } of logs) {
      if (seenHashes.has(transactionHash)) continue
      seenHashes.add(transactionHash)
      const mined = await readMinedTransaction(network, transactionHash)
      const call = mined && decodeUpdate(mined.data)
      if (mined && call?.sequence === sequence) return { mined, call }
    }
    from = to + 1
  }
  return null
}
