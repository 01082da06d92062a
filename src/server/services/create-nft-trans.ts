import type * as z from 'zod'
import { checksumAddress } from '../../api/address.ts'
import { createnfttrans } from '../../api/endpoints/createnfttrans.ts'
import { acceptNfts } from './accept-nfts.ts'
import { refuseUnlessTransferable } from './rights.ts'
import type { ServiceDeps, ServiceRequest } from './services.ts'

type Parsed = z.output<typeof createnfttrans.request>

/**
 * Accepts NFTs that are transferred by their first owner in the transaction that mints them. It sends no request to a
 * chain.
 */
export function createNftTrans(deps: ServiceDeps, request: ServiceRequest<Parsed>) {
  const { sender_wallet_address } = request.parsed
  return acceptNfts(deps, request, {
    endpoint: createnfttrans.name,
    message: 'The request to create and transfer NFTs was accepted.',
    sender: checksumAddress(sender_wallet_address),
    echo: { sender_wallet_address },
    check(collection) {
      refuseUnlessTransferable({
        locked: collection.is_locked === 1,
        revoked: collection.revoked === 1,
        enableTransfer: collection.enable_transfer === 1,
      })
    },
  })
}
