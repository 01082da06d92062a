import type * as z from 'zod'
import { createnft } from '../../api/endpoints/createnft.ts'
import { acceptNfts } from './accept-nfts.ts'
import type { ServiceDeps, ServiceRequest } from './services.ts'

/** Accepts NFTs. It sends no request to a chain. */
export function createNft(deps: ServiceDeps, request: ServiceRequest<z.output<typeof createnft.request>>) {
  return acceptNfts(deps, request, {
    endpoint: createnft.name,
    message: 'The request to create NFTs was accepted.',
    sender: () => null,
    echo: {},
  })
}
