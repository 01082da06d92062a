import type * as z from 'zod'
import { checksumAddress, evmAddressProblem } from '../../api/address.ts'
import { createnfttrans, type createTransRequest12 } from '../../api/endpoints/createnfttrans.ts'
import { acceptNfts } from './accept-nfts.ts'
import { badRequest } from './refusal.ts'
import { refuseUnlessTransferable } from './rights.ts'
import type { ServiceDeps, ServiceRequest } from './services.ts'

type Parsed = z.output<typeof createTransRequest12>

/**
 * Accepts NFTs that are transferred by their first owner in the transaction that mints them. That is the owner of the
 * collection, unless the request names another wallet. It sends no request to a chain.
 */
export function createNftTrans(deps: ServiceDeps, request: ServiceRequest<Parsed>) {
  const { sender_wallet_address } = request.parsed
  return acceptNfts(deps, request, {
    endpoint: createnfttrans.name,
    message: 'The request to create and transfer NFTs was accepted.',
    sender: ({ wallet_address }) => checksumAddress(sender_wallet_address ?? ownerOf(wallet_address)),
    echo: sender_wallet_address === undefined ? {} : { sender_wallet_address },
    check(collection) {
      refuseUnlessTransferable({
        locked: collection.is_locked === 1,
        revoked: collection.revoked === 1,
        enableTransfer: collection.enable_transfer === 1,
      })
    },
  })
}

/** Returns the owner of a collection as the first owner of its NFTs. */
function ownerOf(wallet: string): string {
  if (evmAddressProblem(wallet) === null) return wallet
  throw badRequest('the collection has no owner any more: add sender_wallet_address')
}
