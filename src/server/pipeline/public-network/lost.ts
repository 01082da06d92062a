import { getContractAddress } from 'viem'
import { GdnError } from '../../../core/errors.ts'
import { readCollectionState } from '../../chain/evm/collection-reads.ts'
import type { EvmNetwork, Hex } from '../../chain/evm/network.ts'
import type { Log } from '../../log.ts'
import { returnBatchToMint } from '../../state/nfts.ts'
import { endTransaction } from '../../state/transactions.ts'
import { findCollectionById, updateCollection } from '../../store/collections.ts'
import type { Store } from '../../store/open-store.ts'
import type { Db } from '../../store/schema.ts'
import { nonceOf, type TransactionRow } from '../../store/transactions.ts'
import { returnTransfer } from '../../store/transfers.ts'
import { nextKnownTokenId } from '../../store/unknown-mints.ts'

interface Loss {
  store: Store
  network: EvmNetwork
  transaction: TransactionRow
  now: () => number
  log: Log
}

/**
 * Somebody else who has the signer's key used the nonce, for good: none of the transaction's attempts can be mined any
 * more, and what it was to do gets another nonce. False if another worker has done so.
 */
export async function settleLost({ store, network, transaction, now, log }: Loss): Promise<boolean> {
  const { id, signer, nonce, kind, collection_id: collectionId } = transaction
  if (
    kind === 'factory' &&
    (await isThere(network, getContractAddress({ from: signer as Hex, nonce: BigInt(nonceOf(transaction)) })))
  ) {
    throw new GdnError('unreachable', `${network.blockchain} has the factory, and no node tells of its transaction`, {
      hint: 'give the RPC URL of a node that has all transactions',
    })
  }
  log.error(
    { transaction: id, signer, nonce, kind },
    "a stranger's transaction used the nonce of one of ours: the key of this signer is used elsewhere",
  )
  let apply = async (_db: Db): Promise<void> => {}
  if (kind === 'collection' && collectionId !== null) {
    // Should it be there after all, the second `make` reverts, and the collection counts as deployed.
    apply = (db) => updateCollection(db, collectionId, { transaction_id: null, next_attempt_at: now() })
  }
  if (kind === 'transfer') apply = (db) => returnTransfer(db, id)
  if ((kind === 'mint' || kind === 'grant') && collectionId !== null) {
    const nextOnChain = await nextTokenId(store, network, transaction, collectionId)
    apply = async (db) => {
      await returnBatchToMint(db, id)
      await updateCollection(db, collectionId, { next_token_id: String(nextOnChain) })
    }
  }
  return store.transaction(async (db) => {
    const ours = await endTransaction(db, transaction, { state: 'lost' })
    if (ours) await apply(db)
    return ours
  })
}

/** What was lost is deployed anew: a node that has forgotten a transaction, or never had it, must not make that happen. */
const isThere = async (network: EvmNetwork, address: Hex): Promise<boolean> =>
  (await network.request('eth_getCode', [address, 'latest'])) !== '0x'

/** The token ID to sign for next after a batch that came to nothing. */
export async function nextTokenId(
  store: Store,
  network: EvmNetwork,
  { start_id }: Pick<TransactionRow, 'start_id'>,
  collectionId: string,
): Promise<bigint> {
  const collection = await findCollectionById(store.db, collectionId)
  const state = collection && (await readCollectionState(network, collection.contract_address as Hex))
  if (!state) throw new Error(`the node doesn't have the collection ${collectionId}`)
  const startId = BigInt(start_id ?? state.nextTokenId)
  return await nextKnownTokenId(store.db, { id: collectionId, startId }, state.nextTokenId)
}
