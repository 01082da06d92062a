import { replaceLabel } from '../store/references.ts'
import { findOwnCollection } from './find-own-collection.ts'
import { lookUpReferences, refuseLabelConflicts, toReferenceScope } from './references.ts'
import type { RequestOf, ServiceDeps } from './services.ts'

/**
 * Replaces the label of reference IDs. Repeating the request has no effect. Reference IDs without a label stay
 * unchanged, and unknown reference IDs are ignored.
 *
 * @throws Refusal 409 if a reference ID has neither the old nor the new label. In this case, no label is changed.
 */
export async function relabelReferences(
  { store }: Pick<ServiceDeps, 'store'>,
  { accountId, parsed, body }: RequestOf<'relabelreferences'>,
) {
  const { operation, contract_address: contractAddress, blockchain, replaces_label: from, reference_label: to } = parsed
  const collection = await findOwnCollection(store.db, accountId, { contractAddress, blockchain })
  const scope = toReferenceScope(collection.id, operation)
  const ids = [...new Set(parsed.reference_ids)]
  const relabeled = await store.transaction(async (db) => {
    const changed = await replaceLabel(db, scope, ids, { from, to })
    const references = ids.map((reference_id) => ({ reference_id, label: to }))
    refuseLabelConflicts(scope, references, await lookUpReferences(db, scope, ids))
    return changed
  })
  return { requests: { ...body, reference_ids: body.reference_ids, reference_label: to }, relabeled }
}
