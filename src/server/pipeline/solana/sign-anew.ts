import type { SolanaNetwork } from '../../chain/solana/network.ts'
import type { SolanaChains } from '../../chain/solana/solana-chains.ts'
import type { Log } from '../../log.ts'
import { addSolanaTransactions, endSolanaTransaction } from '../../state/solana-transactions.ts'
import { findCollectionById, updateCollection } from '../../store/collections.ts'
import type { Store } from '../../store/open-store.ts'
import { findNftOfTransaction, moveToTransaction } from '../../store/solana-nfts.ts'
import type { SignedRow } from '../../store/solana-transactions.ts'
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
export async function signAnew(tools: Tools, network: SolanaNetwork, expired: SignedRow): Promise<void> {
  const { store, solana, log, now } = tools
  const order = await orderOf(store, expired)
  if (order === null) {
    await endSolanaTransaction(store.db, expired, { state: 'expired' })
    return
  }
  const signer = await solana.signer(network.blockchain)
  const lifetime = await network.latestBlockhash()
  const facts = { collectionId: expired.collection_id, directory: expired.directory, now: now(), urgent: true }
  const row = await signRow({ signer, network, lifetime }, order, facts)
  const signed = await store.transaction(async (db) => {
    if (!(await endSolanaTransaction(db, expired, { state: 'expired' }))) return false
    await addSolanaTransactions(db, [row])
    if (expired.kind === 'collection') await updateCollection(db, expired.collection_id, { transaction_id: row.id })
    else await moveToTransaction(db, expired.id, row.id)
    return true
  })
  if (!signed) return
  const event = { blockchain: expired.blockchain, transaction: expired.id, replaced_by: row.id }
  log.info(event, 'a transaction came to nothing, and can no longer come; another was signed')
}

/** What the expired transaction was to make; null when nobody waits for it any more. */
async function orderOf({ db }: Store, { id, kind, collection_id, directory }: SignedRow) {
  const collection = await findCollectionById(db, collection_id)
  if (collection === null) return null
  if (kind === 'collection') return orderOfCollection(collection, directory)
  const nft = await findNftOfTransaction(db, id)
  return nft === null || nft.batch_index === null
    ? null
    : orderOfNft(collection, nft, { directory, index: nft.batch_index })
}
