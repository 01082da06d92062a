import { listNftIds } from '../store/nfts.ts'
import { findOwnCollection } from './find-own-collection.ts'
import type { RequestOf, ServiceDeps } from './services.ts'

/** Returns the IDs of a collection's NFTs, oldest first. */
export async function getNftIds(
  { store }: Pick<ServiceDeps, 'store'>,
  { accountId, parsed }: RequestOf<'getnftgdnids'>,
) {
  const { contract_addresses: contractAddress, blockchain } = parsed
  const collection = await findOwnCollection(store.db, accountId, { contractAddress, blockchain }, 'contract_addresses')
  return {
    requests: { contract_address: contractAddress, blockchain },
    nft_gdn_ids: await listNftIds(store.db, collection.id),
  }
}
