import type * as z from 'zod'
import { freezenft } from '../../api/endpoints/freezenft.ts'
import { addUpdates } from '../state/updates.ts'
import { findNft, lockNfts } from '../store/nfts.ts'
import { acceptChange } from './accept-change.ts'
import { askChain } from './ask-chain.ts'
import { badRequest } from './refusal.ts'
import { refusePending, refuseUnlessService, requireToken } from './rights.ts'
import type { ServiceDeps, ServiceRequest } from './services.ts'

type Parsed = z.output<typeof freezenft.request>

/** Accepts a permanent freeze of the metadata of NFTs. One transaction freezes all of them. */
export async function freezeNft(deps: ServiceDeps, request: ServiceRequest<Parsed>) {
  const { store, pipeline } = deps
  const nft_gdn_ids = [...new Set(request.parsed.nft_gdn_ids)]
  return await acceptChange(deps, request, {
    operation: freezenft.name,
    fields: { nft_gdn_ids },
    echo: { contract_address: request.parsed.contract_address, nft_gdn_ids: request.body.nft_gdn_ids },
    async check(collection) {
      for (const id of nft_gdn_ids) requireToken(await findNft(store.db, id), collection)
      await refusePending(store.db, ...nft_gdn_ids)
      const state = await askChain(deps, collection, "the collection's state", (facts) => facts.state(collection))
      refuseUnlessService(state)
    },
    async write(db, { id, request_id, collection, acceptedAt }) {
      await lockNfts(db, nft_gdn_ids)
      await refusePending(db, ...nft_gdn_ids)
      const rows = nft_gdn_ids.map((nft_id) => ({
        ...{ id, request_id, collection_id: collection.id, nft_id, blockchain: collection.blockchain },
        ...({ kind: 'freeze', metadata: '{}', files: null, step: 'sign', next_attempt_at: acceptedAt } as const),
      }))
      if (!(await addUpdates(db, rows))) throw badRequest('one of the NFTs has a pending change')
    },
    accepted: (collectionId) => pipeline.nftsAccepted(collectionId, { files: false, mint: true }),
  })
}
