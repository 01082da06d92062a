import { sameAddress } from '../api/address.ts'
import type { Order } from './order.ts'
import { OrderFiles } from './order-files.ts'

const isOf = (order: Order, origin: string, contract: string) =>
  order.origin === origin && order.contract !== null && sameAddress(order.contract, contract)

/**
 * The NFTs that single commands of this machine minted in a collection: reconciling leaves them out.
 *
 * @param origin as runs and orders know the server (`runOrigin`)
 */
export async function orderedNftIds(stateDir: string, origin: string, contract: string): Promise<string[]> {
  const orders = await new OrderFiles(stateDir).all()
  return orders
    .filter((order) => isOf(order, origin, contract))
    .flatMap(({ accepted }) => accepted?.nfts.map(({ nft_gdn_id }) => nft_gdn_id) ?? [])
}

/** The metadata of orders of a collection of which nobody knows what became: an NFT that fits may be one of theirs. */
export async function openMetadata(stateDir: string, origin: string, contract: string): Promise<unknown[]> {
  const orders = await new OrderFiles(stateDir).all()
  const open = orders.filter((order) => order.accepted === null && isOf(order, origin, contract))
  return open.flatMap(({ body }) => {
    const { metadata } = JSON.parse(body) as { metadata?: unknown }
    return Array.isArray(metadata) ? metadata : [metadata]
  })
}
