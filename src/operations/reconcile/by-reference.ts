import type { CreatingEndpoint } from '../../api/endpoints.ts'
import type { ApiClient, RequestOf } from '../../client/api-client.ts'
import { findStatus } from '../../client/responses.ts'
import type { AcceptedObjects, OperationRequest } from '../../state/operations.ts'

interface ReferenceDeps {
  client: Pick<ApiClient, 'call'>
  signal: AbortSignal
  now(): number
}

interface SentBody {
  contract_address?: string
  blockchain?: string
  reference_id?: string
  reference_ids?: string[]
}

/** Returns the reference IDs in the bytes of a request. */
export function parseReferences(body: string): string[] {
  const { reference_id, reference_ids } = JSON.parse(body) as SentBody
  return reference_ids ?? (reference_id === undefined ? [] : [reference_id])
}

/**
 * Looks up the objects that a request created, by its reference IDs. Creates nothing.
 *
 * @returns null if the request has no reference IDs, or if the server doesn't support them or doesn't have all of them
 */
export async function findByReference(
  kind: CreatingEndpoint,
  { body }: OperationRequest,
  { client, signal, now }: ReferenceDeps,
): Promise<AcceptedObjects | null> {
  const { contract_address, blockchain } = JSON.parse(body) as SentBody
  const references = parseReferences(body)
  if (references.length === 0) return null
  const collection = kind === 'createcollection' ? {} : { contract_address, blockchain }
  const request = { operation: kind, reference_ids: references, ...collection } as RequestOf<'getreferences'>
  const response = await client.call('getreferences', request, { signal }).catch((error: unknown) => {
    // The API key may lack the permission to read. In that case, the collection or the owner determines the outcome.
    if (findStatus(error) !== undefined) return null
    throw error
  })
  const records = references.map((id) =>
    response?.references.find((record) => record.reference_id === id && !record.is_free),
  )
  const [first] = records
  if (first === undefined || records.includes(undefined)) return null
  return {
    nfts: records.flatMap((record) =>
      record?.nft_gdn_id == null ? [] : [{ nft_gdn_id: record.nft_gdn_id, accepted_date: record.accepted_date }],
    ),
    transaction_gdn_id: first.transaction_gdn_id ?? null,
    accepted_date: first.transaction_gdn_id == null ? null : first.accepted_date,
    by: 'found',
    at: now(),
  }
}
