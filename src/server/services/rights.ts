import { ZERO_ADDRESS } from '../../api/address.ts'
import type { CollectionState } from '../pipeline/facts.ts'
import type { CollectionRow } from '../store/collections.ts'
import type { findNft } from '../store/nfts.ts'
import { badRequest } from './refusal.ts'

type FoundNft = NonNullable<Awaited<ReturnType<typeof findNft>>>

/** Rejects if the service may not transfer, by the collection's creation or its owner's setting. */
export function refuseUnlessTransferable(collection: Omit<CollectionState, 'enableApi'>): void {
  if (collection.locked) throw badRequest("the collection is locked: its NFTs can't be transferred")
  if (collection.revoked) throw badRequest("the collection's owner has revoked the service's rights")
  if (!collection.enableTransfer) {
    throw badRequest(
      'enable_transfer is off for this collection: its owner can enable it with setEnableTransfer(true) on the contract',
    )
  }
}

/** Rejects if the collection's owner doesn't let the service work. */
export function refuseUnlessService({ revoked, enableApi }: Pick<CollectionState, 'revoked' | 'enableApi'>): void {
  if (revoked) throw badRequest("the collection's owner has revoked the service's rights")
  if (!enableApi) throw badRequest('enable_api is off for this collection')
}

/** Rejects an NFT that isn't one of the collection's, or has no token. Returns its token ID. */
export function requireToken(nft: FoundNft | null, collection: CollectionRow): string {
  if (nft?.collection_id !== collection.id) {
    throw badRequest('nft_gdn_id and contract_address are inconsistent: the collection has no such NFT')
  }
  if (nft.status === 'failed') throw badRequest(`the NFT failed and was not created: ${nft.error}`)
  if (nft.status !== 'deployed' || nft.token_id === null)
    throw badRequest('the NFT is not deployed yet: wait until its status in getnfts is deployed')
  if (nft.owner === ZERO_ADDRESS) throw badRequest('the NFT was burned')
  return nft.token_id
}
