import { freezenft } from '../../api/endpoints/freezenft.ts'
import { addUpdates } from '../state/updates.ts'
import { findNft, lockNfts } from '../store/nfts.ts'
import type { Db } from '../store/schema.ts'
import { acceptChange } from './accept-change.ts'
import { badRequestError } from './refusals.ts'
import { readChainState, refusePending, refuseUnlessService, requireTokenId } from './rights.ts'
import type { InputOf, RequestOf, ServiceDeps } from './services.ts'

type FreezeRequest = InputOf<'freezenft'>

/** Accepts a permanent freeze of the metadata of NFTs. One transaction freezes all of them. */
export async function freezeNft(deps: ServiceDeps, request: RequestOf<'freezenft'>) {
  const { store, pipeline } = deps
  const { contract_address, replaces_revisions } = request.parsed
  const nft_gdn_ids = [...new Set(request.parsed.nft_gdn_ids)]
  return await acceptChange(deps, request, {
    operation: freezenft.name,
    fields: { nft_gdn_ids, replaces_revisions },
    echo: { contract_address, nft_gdn_ids: request.body.nft_gdn_ids, replaces_revisions },
    async check(collection) {
      for (const id of nft_gdn_ids) requireTokenId(await findNft(store.db, id), collection)
      await refusePending(store.db, ...nft_gdn_ids)
      await refuseStale(store.db, request.parsed)
      const state = await readChainState(deps, collection, "the collection's state", (facts) =>
        facts.readState(collection),
      )
      refuseUnlessService(state)
    },
    async write(db, { id, request_id, collection, acceptedAt }) {
      await lockNfts(db, nft_gdn_ids)
      await refusePending(db, ...nft_gdn_ids)
      await refuseStale(db, request.parsed)
      const rows = nft_gdn_ids.map((nft_id) => ({
        id,
        request_id,
        collection_id: collection.id,
        nft_id,
        blockchain: collection.blockchain,
        kind: 'freeze' as const,
        metadata: '{}',
        files: null,
        step: 'sign' as const,
        next_attempt_at: acceptedAt,
      }))
      if (!(await addUpdates(db, rows))) throw badRequestError('one of the NFTs has a pending change')
    },
    onAccepted: (collectionId) => pipeline.onNftsAccepted(collectionId, { files: false, mint: true }),
  })
}

/** Rejects a freeze of metadata that the client has not seen. */
async function refuseStale(db: Db, { nft_gdn_ids, replaces_revisions = [] }: FreezeRequest): Promise<void> {
  for (const [at, replaces] of replaces_revisions.entries()) {
    const id = nft_gdn_ids[at] ?? ''
    const revision = (await findNft(db, id))?.revision ?? 0
    if (replaces === revision) continue
    throw badRequestError(
      `replaces_revisions has ${replaces} for the NFT ${id}, which has revision ${revision}: read the NFT again with getnfts`,
    )
  }
}
