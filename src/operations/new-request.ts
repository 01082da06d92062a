import { randomUUID } from 'node:crypto'
import type { Creation } from '../api/creation.ts'
import { refuseSilentBackend } from '../client/backend.ts'
import { GdnError } from '../core/errors.ts'
import { enterKnown } from '../state/known-nfts.ts'
import type { IntendedRequest, OperationName } from '../state/operations.ts'
import { refuseLookAlikes } from './check-copy.ts'
import { listIds } from './reconcile/listing.ts'
import type { OperateDeps, WantedRequest } from './types.ts'

/** A request that is ready to be committed. */
export type NewRequest = Omit<IntendedRequest, 'body'> & Pick<WantedRequest, 'reference'> & { request: object }

/** Error codes of getnftgdnids for a collection that can't be listed, although minting in it may work. */
const NOT_LISTED = new Set(['forbidden', 'refused', 'not_found', 'bad_answer'])

/**
 * Builds the request of an operation. First checks whether a copied state may send it. Lists the collection if only
 * that can resolve an unknown outcome later.
 */
export async function newRequest(
  deps: OperateDeps,
  wanted: WantedRequest,
  creates: Creation,
  { name, collectionId }: { name: OperationName; collectionId: number | null },
): Promise<NewRequest> {
  const { url, id, incarnation } = wanted.backend
  const request = await wanted.request()
  refuseSilentBackend(wanted.backend)
  const isMint = creates.effect.in === 'collection'
  // A copied state lacks the requests that were sent after it was copied.
  if (!wanted.again && isMint && collectionId !== null) await refuseLookAlikes(deps, { collectionId, request, name })
  // Null means that the server didn't respond. The request itself then reports a better error.
  const honorsKey = await deps.client.learnIdempotency({ signal: deps.signal })
  const listedAt =
    honorsKey === false && isMint && collectionId !== null ? await listBefore(deps, wanted, collectionId) : null
  const key = wanted.operationId ?? randomUUID()
  return { key, request, reference: wanted.reference, backend: { url, id, incarnation }, honorsKey, listedAt }
}

/**
 * Records the NFTs that exist before the request, if the server has no other means to resolve an unknown outcome.
 * Returns null if this isn't needed or the server refuses to list them.
 */
async function listBefore(
  { client, signal, state }: OperateDeps,
  { contract, blockchain }: WantedRequest,
  collectionId: number,
): Promise<number | null> {
  if (contract === null || blockchain === null || client.supports('references') === true) return null
  try {
    const ids = await listIds({ client, signal }, { contractAddress: contract, blockchain })
    return await state.write((sql) => enterKnown(sql, collectionId, ids), signal)
  } catch (error) {
    if (error instanceof GdnError && NOT_LISTED.has(error.code)) return null
    throw error
  }
}

/**
 * Returns the bytes of a request. They include reference IDs and the receiver's name only if the server supports them.
 */
export function requestBytes(
  { client }: Pick<OperateDeps, 'client'>,
  creates: Creation,
  id: string,
  { request, reference = id, ...rest }: NewRequest,
): IntendedRequest {
  const named = client.supports('references') === true ? withReferences(creates, reference, request) : request
  // JSON omits undefined values.
  const known = client.supports('names') === true ? named : { ...named, receiver_name: undefined }
  return { ...rest, body: JSON.stringify(known) }
}

/**
 * Adds the reference IDs of an operation to its request. A server that supports reference IDs creates one object for
 * each. If an operation has several NFTs, they are numbered from 1.
 */
function withReferences({ transactionsFrom }: Creation, id: string, request: object): object {
  const makesNfts = transactionsFrom === null && 'metadata' in request && Array.isArray(request.metadata)
  if (!makesNfts) return { ...request, reference_id: id }
  const { metadata } = request as { metadata: readonly unknown[] }
  return { ...request, reference_ids: metadata.length === 1 ? [id] : metadata.map((_, i) => `${id}/${i + 1}`) }
}
