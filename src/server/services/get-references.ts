import { formatUtcTime } from '../../core/time.ts'
import { createsNfts } from '../store/references.ts'
import { findOwnCollection } from './find-own-collection.ts'
import { lookUpReferences, targetIdField, toReferenceScope } from './references.ts'
import type { InputOf, RequestOf, ServiceDeps } from './services.ts'

type ReferencesRequest = InputOf<'getreferences'>

/** Returns the operations of the account's reference IDs, in the order of the request. Omits unknown IDs. */
export async function getReferences(
  { store }: Pick<ServiceDeps, 'store'>,
  { accountId, parsed, body }: RequestOf<'getreferences'>,
) {
  const { operation } = parsed
  const scope = toReferenceScope(await findScopeId({ store }, accountId, parsed), operation)
  const ids = [...new Set(parsed.reference_ids)]
  const references = await lookUpReferences(store.db, scope, ids)
  return {
    requests: { ...body, operation, reference_ids: body.reference_ids },
    references: ids.flatMap((id) => {
      const row = references.get(id)
      if (row === undefined) return []
      const { reference_id, status, digest, accepted_at, isFree: is_free } = row
      const { label: reference_label = null, kind: reference_kind = null, alias: reference_alias = null } = row
      const accepted_date = formatUtcTime(accepted_at)
      const mintFields = createsNfts(scope.operation) ? { reference_label, reference_kind, reference_alias } : {}
      return [{ reference_id, ...targetIdField(scope, row), status, digest, accepted_date, is_free, ...mintFields }]
    }),
  }
}

async function findScopeId(
  { store }: Pick<ServiceDeps, 'store'>,
  accountId: string,
  parsed: ReferencesRequest,
): Promise<string> {
  if (parsed.operation === 'createcollection') return accountId
  const { contract_address: contractAddress, blockchain } = parsed
  return (await findOwnCollection(store.db, accountId, { contractAddress, blockchain })).id
}
