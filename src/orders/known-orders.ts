import { sameAddress } from '../api/same-address.ts'
import { sentMetadata } from '../batch/reconcile/content.ts'
import { OrderFiles } from './order-files.ts'

/** What the single commands of this machine have to do with a collection. */
export interface OrderedNfts {
  /** NFTs that they minted: reconciling leaves them out. */
  ids: string[]
  /** The metadata of orders of which nobody knows what became: an NFT that fits may be one of theirs. */
  open: unknown[]
}

/**
 * Both from one reading: an order that is accepted meanwhile must not be missing from either.
 *
 * @param origin as runs and orders know the server
 */
export async function orderedNfts(stateDir: string, origin: string, contract: string): Promise<OrderedNfts> {
  const all = await new OrderFiles(stateDir).all()
  const mints = all.filter(
    (order) => order.origin === origin && order.contract !== null && sameAddress(order.contract, contract),
  )
  return {
    ids: mints.flatMap(({ accepted }) => accepted?.nfts.map(({ nft_gdn_id }) => nft_gdn_id) ?? []),
    open: mints.flatMap(({ accepted, body }) => (accepted === null ? sentMetadata(body) : [])),
  }
}
