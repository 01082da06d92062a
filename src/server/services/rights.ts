import { badRequest } from './refusal.ts'

/** Rejects if the service may not transfer, by the collection's creation or its owner's setting. */
export function refuseUnlessTransferable(collection: {
  locked: boolean
  revoked: boolean
  enableTransfer: boolean
}): void {
  if (collection.locked) throw badRequest("the collection is locked: its NFTs can't be transferred")
  if (collection.revoked) throw badRequest("the collection's owner has revoked the service's rights")
  if (!collection.enableTransfer) {
    throw badRequest(
      'enable_transfer is off for this collection: its owner can enable it with setEnableTransfer(true) on the contract',
    )
  }
}
