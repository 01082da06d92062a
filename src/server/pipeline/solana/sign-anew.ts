import type { SolanaNetwork } from '../../chain/solana/network.ts'
import type { SolanaChains } from '../../chain/solana/solana-chains.ts'
import type { Log } from '../../log.ts'
import { addTransactions, endTransaction } from '../../state/transactions.ts'
import { findCollectionById, updateCollection } from '../../store/collections.ts'
import { findNftOfTransaction, updateSignedNfts } from '../../store/nfts.ts'
import type { Store } from '../../store/open-store.ts'
import type { TransactionRow } from '../../store/transactions.ts'
import { orderOfCollection, orderOfNft } from './orders.ts'
import { signRow } from './sign.ts'

interface Tools {
  store: Store
  solana: Pick<SolanaChains, 'signer'>
  log: Log
  now: () => number
}

/**
 * Signs for the same token again, because the first transaction has expired unexecuted, or couldn't be paid for. Address
 * and metadata stay what they were: whichever of the two a network were to execute, there is one token, and it is this one.
 */
export async function signAnew(tools: Tools, network: SolanaNetwork, expired: TransactionRow): Promise<void> {
  const { store, solana, log, now } = tools
  const { collection_id: collectionId, directory } = expired
  const order = await orderOf(store, expired)
  if (order === null || collectionId === null || directory === null) {
    await endTransaction(store.db, expired, { state: 'lost', raw: '' })
    return
  }
  const signer = await solana.signer(network.blockchain)
  const lifetime = await network.latestBlockhash()
  const facts = { collectionId, directory, now: now(), urgent: true }
  const row = await signRow({ signer, network, lifetime }, order, facts)
  const signed = await store.transaction(async (db) => {
    if (!(await endTransaction(db, expired, { state: 'lost', raw: '' }))) return false
    await addTransactions(db, [row])
    if (expired.kind === 'collection') await updateCollection(db, collectionId, { transaction_id: row.id })
    else await updateSignedNfts(db, expired.id, { transaction_id: row.id })
    return true
  })
  if (!signed) return
  const event = { blockchain: expired.blockchain, transaction: expired.id, replaced_by: row.id }
  log.info(event, 'a transaction came to nothing, and can no longer come; another was signed')
}

/** What the expired transaction was to make; null when nobody waits for it any more. */
async function orderOf({ db }: Store, { id, kind, collection_id, directory }: TransactionRow) {
  const collection = collection_id === null ? null : await findCollectionById(db, collection_id)
  if (collection === null || directory === null) return null
  if (kind === 'collection') return orderOfCollection(collection, directory)
  const nft = await findNftOfTransaction(db, id)
  return nft === null || nft.batch_index === null
    ? null
    : orderOfNft(collection, nft, { directory, index: nft.batch_index })
}
