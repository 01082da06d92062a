import { commitprovenance } from '../../api/endpoints/commitprovenance.ts'
import { addUpdates } from '../state/updates.ts'
import { lockCollection } from '../store/collections.ts'
import { type CommitmentTerms, findCommitment } from '../store/updates.ts'
import { acceptChange } from './accept-change.ts'
import { badRequestError } from './refusals.ts'
import { readChainState, refuseUnlessService } from './rights.ts'
import { refuseOtherSeal, refuseShortMargin, refuseUnlessSealable } from './seal-drop.ts'
import type { RequestOf, ServiceDeps } from './services.ts'

/**
 * Accepts a collection's commitment to a hash. If the collection is already committed to the hash, returns the existing
 * commitment.
 */
export async function commitProvenance(deps: ServiceDeps, request: RequestOf<'commitprovenance'>) {
  const { store, pipeline } = deps
  const { contract_address, provenance, shuffle_margin, seal_of, leaves_url } = request.parsed
  const seal = seal_of === undefined || leaves_url === undefined ? null : { seal_of, leaves_url }
  return await acceptChange(deps, request, {
    operation: commitprovenance.name,
    fields: { provenance },
    echo: { contract_address, provenance },
    async findExisting(db, { id }) {
      await lockCollection(db, id)
      return await findCommitment(db, id, provenance)
    },
    async check(collection) {
      if (collection.status === 'failed') throw badRequestError('the collection could not be created')
      if (shuffle_margin !== undefined) await refuseShortMargin(deps, collection, shuffle_margin)
      await refuseOtherSeal(store.db, collection.id, provenance, seal?.seal_of)
      if (collection.status !== 'deployed' || (await findCommitment(store.db, collection.id, provenance)) !== null)
        return
      const state = await readChainState(deps, collection, "the collection's state", (facts) =>
        facts.readState(collection),
      )
      refuseUnlessService(state)
    },
    async write(db, { id, request_id, reference_id, collection: { id: collection_id, blockchain }, acceptedAt }) {
      if (seal !== null) await refuseUnlessSealable(db, { collectionId: collection_id, blockchain }, seal)
      const terms: CommitmentTerms | null = shuffle_margin === undefined ? seal : { shuffle_margin }
      const files = terms === null ? null : JSON.stringify(terms)
      const row = { id, request_id, reference_id, collection_id, nft_id: null, blockchain, next_attempt_at: acceptedAt }
      const isNew = await addUpdates(db, [{ ...row, kind: 'provenance', metadata: provenance, files, step: 'sign' }])
      if (!isNew) throw new Error('the collection was committed to the hash in the meantime')
    },
    onAccepted: (collectionId) => pipeline.onNftsAccepted(collectionId, { files: false, mint: true }),
  })
}
