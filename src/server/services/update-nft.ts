import { updatednft } from '../../api/endpoints/updatednft.ts'
import type { CollectionState, Lifecycle, TokenState } from '../pipeline/facts.ts'
import { addUpdates } from '../state/updates.ts'
import { findNft, lockNfts } from '../store/nfts.ts'
import { acceptChange } from './accept-change.ts'
import { badRequestError } from './refusals.ts'
import { pendingUpdateError, readChainState, refusePending, refuseUnlessService, requireTokenId } from './rights.ts'
import type { RequestOf, ServiceDeps } from './services.ts'
import { findStoredPlaces } from './stored-files.ts'

/** Accepts new metadata for an NFT. The new metadata replaces the old metadata completely. */
export async function updateNft(deps: ServiceDeps, request: RequestOf<'updatednft'>) {
  const { store, pipeline } = deps
  const { nft_gdn_id, contract_address, metadata: list, replaces_revision } = request.parsed
  const [metadata = { title: '', description: '', file_fields: [] }] = list
  return await acceptChange(deps, request, {
    operation: updatednft.name,
    fields: { nft_gdn_id, metadata, replaces_revision },
    echo: {
      nft_gdn_id,
      contract_address,
      metadata: request.body.metadata,
      replaces_revision,
    },
    async check(collection) {
      const nft = await findNft(store.db, nft_gdn_id)
      const tokenId = requireTokenId(nft, collection)
      await refusePending(store.db, nft_gdn_id)
      refuseStale(replaces_revision, nft?.revision ?? 0)
      const isDynamic = nft?.dynamic === 1 || collection.dynamic === 1
      const [state, lifecycle, token] = await readChainState(deps, collection, "the NFT's state", (facts) =>
        Promise.all([
          facts.readState(collection),
          facts.readLifecycle(collection),
          facts.readToken(collection, { tokenId, isDynamic }),
        ]),
      )
      refuseUnlessUpdatable(nft_gdn_id, state, lifecycle, token)
      refuseStale(replaces_revision, Math.max(nft?.revision ?? 0, token.revision))
      const [files] = await findStoredPlaces(deps, [metadata])
      return files ?? null
    },
    async write(db, { id, request_id, reference_id, collection, acceptedAt, prepared: files }) {
      await lockNfts(db, [nft_gdn_id])
      await refusePending(db, nft_gdn_id)
      refuseStale(replaces_revision, (await findNft(db, nft_gdn_id))?.revision ?? 0)
      const { blockchain } = collection
      const isNew = await addUpdates(db, [
        {
          id,
          request_id,
          reference_id,
          collection_id: collection.id,
          nft_id: nft_gdn_id,
          blockchain,
          kind: 'update',
          metadata: JSON.stringify(metadata),
          files: files === null ? null : JSON.stringify(files),
          step: files === null ? 'files' : 'sign',
          next_attempt_at: acceptedAt,
        },
      ])
      if (!isNew) throw pendingUpdateError(nft_gdn_id)
    },
    onAccepted: (collectionId, files) =>
      pipeline.onNftsAccepted(collectionId, { files: files === null, mint: files !== null }),
  })
}

function refuseUnlessUpdatable(id: string, state: CollectionState, lifecycle: Lifecycle, token: TokenState): void {
  refuseUnlessService(state)
  if (token.isBurned) throw badRequestError('the NFT was burned')
  if (lifecycle.isFrozen) throw badRequestError('the metadata of the collection is frozen')
  if (!lifecycle.hasUpdatesLeft) throw badRequestError('the collection has reached the maximum number of updates')
  if (token.isFrozen) throw badRequestError(`the metadata of the NFT ${id} is frozen`)
  if (!token.isDynamic) {
    throw badRequestError(
      `the NFT ${id} is not dynamic: only NFTs from creatednft or in a dynamic collection can be updated`,
    )
  }
}

function refuseStale(replaces: number | undefined, revision: number): void {
  if (replaces === undefined || replaces === revision) return
  throw badRequestError(
    `replaces_revision is ${replaces}, but the NFT has revision ${revision}: read the NFT again with getnfts`,
  )
}
