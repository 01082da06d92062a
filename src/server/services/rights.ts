import { badRequest } from './refusal.ts'

/** Refuses where the service may not transfer, as the collection was made or as its owner has switched it. */
export function refuseUnlessTransferable(collection: {
  locked: boolean
  revoked: boolean
  enableTransfer: boolean
}): void {
  if (collection.locked) throw badRequest('the collection is locked: its NFTs can not be transferred')
  if (collection.revoked) throw badRequest("the collection's owner has revoked the service's rights")
  if (!collection.enableTransfer) {
    throw badRequest(
      'enable_transfer is off for this collection: its owner can enable it with setEnableTransfer(true) on the contract',
    )
  }
}
