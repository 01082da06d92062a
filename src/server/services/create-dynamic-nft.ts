import type * as z from 'zod'
import { creatednft } from '../../api/endpoints/creatednft.ts'
import { acceptNfts } from './accept-nfts.ts'
import type { ServiceDeps, ServiceRequest } from './services.ts'

/** Accepts NFTs whose metadata can be updated. It sends no request to a chain. */
export function createDynamicNft(deps: ServiceDeps, request: ServiceRequest<z.output<typeof creatednft.request>>) {
  return acceptNfts(deps, request, {
    endpoint: creatednft.name,
    message: 'The request to create NFTs was accepted.',
    sender: () => null,
    dynamic: true,
    echo: {},
  })
}
