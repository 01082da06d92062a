import { randomUUID } from 'node:crypto'
import type { Creation } from '../api/creation.ts'
import { lowercaseAddress } from '../api/same-address.ts'
import { refuseSilentBackend } from '../client/backend.ts'
import { canonicalJson } from '../core/canonical-json.ts'
import { GdnError } from '../core/errors.ts'
import { sha256Hex } from '../core/sha256-hex.ts'
import { copiedState, findNftsWithContents, listUncompared, markCompared, storeContents } from '../state/collections.ts'
import { storeListedNfts } from '../state/known-nfts.ts'
import type { IntendedRequest, OperationName } from '../state/operations.ts'
import { metadataHash } from './reconcile/content-and-owners.ts'
import { listIds, readPages } from './reconcile/listing.ts'
import type { OperateDeps, RequestSpec } from './types.ts'

/** A request that is ready to be committed. */
export type NewRequest = Omit<IntendedRequest, 'body'> & Pick<RequestSpec, 'reference'> & { request: object }

/** Error codes of getnftgdnids for a collection that can't be listed. Minting in such a collection may still work. */
const UNLISTABLE_CODES = new Set(['forbidden', 'refused', 'not_found', 'bad_answer'])

/**
 * Builds the request of an operation. If the state is a copy, first checks whether it may send the request. Lists the
 * collection if only a list can resolve an unknown outcome later.
 */
export async function newRequest(
  deps: OperateDeps,
  wantedRequest: RequestSpec,
  creates: Creation,
  { name, collectionId }: { name: OperationName; collectionId: number | null },
): Promise<NewRequest> {
  const { url, id, incarnation } = wantedRequest.backend
  const request = await wantedRequest.request()
  refuseSilentBackend(wantedRequest.backend)
  const isMint = creates.effect.in === 'collection'
  // A copied state doesn't have the requests that were sent after it was copied.
  if (!wantedRequest.again && isMint && collectionId !== null)
    await refuseMatchingNfts(deps, { collectionId, request, name })
  // Null means that the server didn't respond. In that case, the request itself reports a better error.
  const honorsKey = await deps.client.learnCapabilities({ signal: deps.signal })
  const listedAt =
    honorsKey === false && isMint && collectionId !== null
      ? await listNftsBefore(deps, wantedRequest, collectionId)
      : null
  const key = wantedRequest.operationId ?? randomUUID()
  return { key, request, reference: wantedRequest.reference, backend: { url, id, incarnation }, honorsKey, listedAt }
}

/**
 * Records the NFTs that exist before the request, if the server has no other means to resolve an unknown outcome.
 * Returns null if this isn't needed or the server refuses to list them.
 */
async function listNftsBefore(
  { client, signal, state }: OperateDeps,
  { contract, blockchain }: RequestSpec,
  collectionId: number,
): Promise<number | null> {
  if (contract === null || blockchain === null || client.supports('references') === true) return null
  try {
    const ids = await listIds({ client, signal }, { contractAddress: contract, blockchain })
    return await state.write((sql) => storeListedNfts(sql, collectionId, ids), signal)
  } catch (error) {
    if (error instanceof GdnError && UNLISTABLE_CODES.has(error.code)) return null
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
  const referenced = client.supports('references') === true ? withReferences(creates, reference, request) : request
  // JSON omits undefined values.
  const sentFields = client.supports('names') === true ? referenced : { ...referenced, receiver_name: undefined }
  return { ...rest, body: JSON.stringify(sentFields) }
}

/**
 * Adds the reference IDs of an operation to its request. A server that supports reference IDs creates one object for
 * each ID. If an operation has several NFTs, their IDs are numbered from 1.
 */
function withReferences({ transactionsFrom }: Creation, id: string, request: object): object {
  const makesNfts = transactionsFrom === null && 'metadata' in request && Array.isArray(request.metadata)
  if (!makesNfts) return { ...request, reference_id: id }
  const { metadata } = request as { metadata: readonly unknown[] }
  return { ...request, reference_ids: metadata.length === 1 ? [id] : metadata.map((_, i) => `${id}/${i + 1}`) }
}

/**
 * Rejects a mint if the state is a copy and the collection has NFTs with the same content that belong to no operation.
 * These NFTs may have been minted after the state was copied.
 *
 * @throws GdnError `seems_minted`
 */
async function refuseMatchingNfts(
  { state, client, signal, onEvent }: OperateDeps,
  { collectionId, request, name }: { collectionId: number; request: object; name: OperationName },
): Promise<void> {
  const copied = await state.read((sql) => copiedState(sql, collectionId), signal)
  const { contract, blockchain } = name
  if (copied === null || contract === null || blockchain === null) return
  if (!copied.isCompared) {
    await onEvent({ type: 'copied', reason: copied.reason })
    const listed = await listIds({ client, signal }, { contractAddress: contract, blockchain })
    const unread = await state.read((sql) => listUncompared(sql, collectionId, listed), signal)
    for await (const { nfts, done } of readPages({ client, signal }, unread)) {
      const contents = nfts.map((nft): [string, string] => [nft.nft_gdn_id, metadataHash(nft.request_metadata)])
      await state.write((sql) => storeContents(sql, collectionId, contents), signal)
      await onEvent({ type: 'looking', ids: done, ofIds: unread.length })
    }
    await state.write((sql) => markCompared(sql, collectionId, copied.epoch), signal)
  }
  const { metadata } = request as { metadata: readonly unknown[] }
  const alike = await state.read((sql) => findNftsWithContents(sql, collectionId, metadata.map(metadataHash)), signal)
  if (alike.length === 0) return
  const shownIds = `${alike.slice(0, 5).join(', ')}${alike.length > 5 ? ', …' : ''}`
  throw new GdnError('seems_minted', `the collection already has NFTs with this content: ${shownIds}`, {
    hint: [
      `The state directory may be a copy (${copied.reason}), so an earlier command may have minted these NFTs.`,
      'Nothing was sent. To mint another NFT, add --again.',
    ].join('\n'),
    details: { nft_gdn_ids: alike },
  })
}

/**
 * Returns the identity of a single command: a hash of its request, without the API key and anything else that differs
 * between attempts. Ignores the case of EVM addresses. The format, `v1`, must never change.
 */
export function commandIdentity(content: unknown): string {
  const hash = sha256Hex(canonicalJson(lowerAddresses(content)))
  return `v1:${hash}`
}

/**
 * Converts the request's own addresses to lower case. Doesn't change text in the metadata that looks like an address.
 */
function lowerAddresses(content: unknown): unknown {
  if (content === null || typeof content !== 'object' || Array.isArray(content)) return content
  return Object.fromEntries(
    Object.entries(content).map(([name, value]): [string, unknown] => [name, lowercaseAddress(value)]),
  )
}
