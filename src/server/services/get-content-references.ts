import { MAX_CONTENT_REFERENCES } from '../../api/endpoints/getcontentreferences.ts'
import { listUnaliased } from '../store/references.ts'
import { findOwnCollection } from './find-own-collection.ts'
import { toReferenceScope } from './references.ts'
import type { RequestOf, ServiceDeps } from './services.ts'

/**
 * Lists the reference IDs of a label that were derived from content and whose NFTs have no alias. Omits failed and
 * burned NFTs, so a page may be empty even if another page follows.
 */
export async function getContentReferences(
  { store }: Pick<ServiceDeps, 'store'>,
  { accountId, parsed, body }: RequestOf<'getcontentreferences'>,
) {
  const { operation, contract_address: contractAddress, blockchain, reference_label, after = '' } = parsed
  const collection = await findOwnCollection(store.db, accountId, { contractAddress, blockchain })
  const limit = MAX_CONTENT_REFERENCES
  const page = await listUnaliased(store.db, toReferenceScope(collection.id, operation), reference_label, {
    after,
    limit,
  })
  return {
    requests: { ...body, operation, reference_label },
    references: page
      .filter(({ exists }) => exists)
      .map(({ reference_id, target_id: nft_gdn_id }) => ({ reference_id, nft_gdn_id })),
    next: page.length < limit ? null : (page.at(-1)?.reference_id ?? null),
  }
}
