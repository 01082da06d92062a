import type { Blockchain } from '../../api/blockchains.ts'
import type { Creation } from '../../api/creation.ts'
import type { NftRecord } from '../../api/nft-record.ts'
import { isSameAddress } from '../../api/same-address.ts'
import type { ApiClient } from '../../client/api-client.ts'
import { readNft } from '../../client/read-records.ts'
import { lacksEndpoint } from '../../client/responses.ts'
import type { AcceptedObjects, OperationRequest } from '../../state/operations.ts'
import { metadataHash, possibleOwners } from './content-and-owners.ts'
import { IDS_PER_CALL, LISTING_LAG_MS, listIds, readPages, SEARCH_GAP_MS } from './listing.ts'
import { findMinted, type MatchResult } from './match-groups.ts'

/** The result of searching the server for an operation with an unknown outcome. */
export type SearchResult =
  | { kind: 'accepted'; accepted: AcceptedObjects }
  | { kind: 'unknown'; reason: string; ids: string[] }

export interface SearchDeps {
  client: Pick<ApiClient, 'call'>
  now(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  signal: AbortSignal
  /**
   * Returns the listed IDs that are new in the collection and belong to no other operation on this machine. `listedAt`
   * is the value of the state's counter when the collection was listed before the request.
   */
  findNewIds(listed: ReadonlySet<string>, listedAt: number | null): Promise<string[]>
  /**
   * Returns the contents of batch rows with an unknown outcome. An NFT with the same content may belong to one of them.
   */
  readUnresolvedContents(contract: string, blockchain: Blockchain): Promise<ReadonlySet<string>>
  /** Returns the number of operations with the same content and an unknown outcome, including this one. */
  countCopies(): Promise<number>
  /** Returns other operations with an unknown outcome in the collection, each with its own `listedAt`. */
  readOtherOperations(): Promise<readonly { metadata: readonly unknown[]; listedAt: number | null }[]>
  onSearch(progress: { ids: number; ofIds: number } | { waitingMs: number }): Promise<void> | void
}

/**
 * Searches the server for the effect of a request that can't be repeated. Sends only read requests. The original
 * request counts as accepted only if its effect is visible. A missing effect doesn't prove that the request wasn't
 * accepted.
 */
export async function searchForEffect(
  request: OperationRequest,
  { effect }: Creation,
  deps: SearchDeps,
): Promise<SearchResult> {
  switch (effect.in) {
    case 'collection':
      return await searchForMints(request, deps)
    case 'owner':
      return await searchForOwner(request, deps)
    case 'none':
      return { kind: 'unknown', reason: effect.reason, ids: [] }
  }
}

interface MintBody {
  contract_address: string
  blockchain: Blockchain
  sender_wallet_address?: string
  receiver_wallet_address: string
  metadata: unknown[]
}

async function searchForMints(request: OperationRequest, deps: SearchDeps): Promise<SearchResult> {
  const body = JSON.parse(request.body) as MintBody
  const { sender_wallet_address: sender = null, receiver_wallet_address: receiver } = body
  const unresolved = await deps.readUnresolvedContents(body.contract_address, body.blockchain)
  const requestContents = body.metadata.map(metadataHash)
  const conflicting = await conflictingOperations(requestContents, deps)
  // Search all NFTs that a conflicting operation may have created. If there are fewer NFTs than requested in total, a
  // transferred NFT of another operation looks like an NFT of this request.
  const since = conflicting.reduce<number | null>((first, { listedAt }) => minOrNull(first, listedAt), request.listedAt)
  let pool: readonly NftRecord[] = []
  const isShort = (content: string, copies: number): boolean => {
    const conflictCount = conflicting
      .flatMap(({ contents }) => contents)
      .filter((candidate) => candidate === content).length
    const ownCount = copies * requestContents.filter((candidate) => candidate === content).length
    return (
      conflictCount > 0 &&
      pool.filter((nft) => metadataHash(nft.request_metadata) === content).length < ownCount + conflictCount
    )
  }
  const copies = await deps.countCopies()
  const sought = {
    metadata: body.metadata,
    owners: possibleOwners({ receiver, sender }),
    copies,
    doubtful: (content: string) =>
      request.listedAt === null
        ? 'an NFT with the same metadata was found, but it may be older: the collection could not be listed before the request'
        : unresolved.has(content)
          ? 'an NFT with the same metadata may belong to a run whose outcome is also unknown: reconcile that run first'
          : isShort(content, copies)
            ? 'an NFT with the same metadata may belong to another command whose outcome is also unknown'
            : null,
  }
  const records = new Map<string, NftRecord>()
  const search = async (): Promise<MatchResult> => {
    const nfts = await newNfts(body, (listed) => deps.findNewIds(listed, since), records, deps)
    pool = nfts
    const newIds = new Set(await deps.findNewIds(new Set(nfts.map(({ nft_gdn_id }) => nft_gdn_id)), request.listedAt))
    return findMinted(
      nfts.filter(({ nft_gdn_id }) => newIds.has(nft_gdn_id)),
      sought,
    )
  }
  // A lagging listing may include the NFTs soon. The loop counts the time slept, because the clock may be set back in
  // the meantime.
  let remainingMs = Math.min(LISTING_LAG_MS, (request.sentAt ?? 0) + LISTING_LAG_MS - deps.now())
  let matches = await search()
  for (; matches.kind !== 'minted' && remainingMs > 0; remainingMs -= SEARCH_GAP_MS) {
    await deps.onSearch({ waitingMs: remainingMs })
    await deps.sleep(Math.min(SEARCH_GAP_MS, remainingMs), deps.signal)
    matches = await search()
  }
  if (matches.kind === 'undecided') {
    return { kind: 'unknown', reason: matches.reason, ids: matches.ids }
  }
  if (matches.kind === 'none') {
    return { kind: 'unknown', reason: 'no new NFT of the collection has the requested content', ids: [] }
  }
  return { kind: 'accepted', accepted: acceptedObjectsOf(matches.ids, deps.now()) }
}

/** Returns the other operations with an unknown outcome that requested some of the same contents. */
async function conflictingOperations(
  requestContents: readonly string[],
  deps: SearchDeps,
): Promise<{ contents: string[]; listedAt: number | null }[]> {
  const operations = await deps.readOtherOperations()
  return operations
    .map(({ metadata, listedAt }) => ({
      contents: metadata.map(metadataHash).filter((content) => requestContents.includes(content)),
      listedAt,
    }))
    .filter(({ contents }) => contents.length > 0)
}

/** Returns the earlier of two counter values. Null is earlier than any value. */
const minOrNull = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? null : Math.min(a, b)

/** Returns the NFTs of the collection that aren't assigned to an operation. Doesn't read complete records again. */
async function newNfts(
  body: MintBody,
  newIds: (listed: ReadonlySet<string>) => Promise<string[]>,
  records: Map<string, NftRecord>,
  { client, signal, onSearch }: SearchDeps,
): Promise<NftRecord[]> {
  const { contract_address: contractAddress, blockchain } = body
  const listed = await listIds({ client, signal }, { contractAddress, blockchain })
  const candidates = await newIds(listed)
  const unread = candidates.filter((id) => !hasReceiverAndMetadata(records.get(id)))
  for await (const { nfts, done } of readPages({ client, signal }, unread)) {
    for (const nft of nfts) records.set(nft.nft_gdn_id, nft)
    await onSearch({ ids: done, ofIds: unread.length })
  }
  return candidates.flatMap((id) => records.get(id) ?? [])
}

const hasReceiverAndMetadata = (nft: NftRecord | undefined) =>
  Boolean(nft?.receiver_wallet_address && nft.request_metadata)

interface TransferBody {
  nft_gdn_id: string
  sender_wallet_address: string
  receiver_wallet_address: string
}

/**
 * Determines the outcome of a transfer from the NFT's owner. The transfer is complete if the receiver is the owner.
 * Otherwise, the transfer may be pending, or the server may never have received it.
 */
async function searchForOwner(request: OperationRequest, { client, signal, now }: SearchDeps): Promise<SearchResult> {
  const body = JSON.parse(request.body) as TransferBody
  const { nft_gdn_id, sender_wallet_address: sender, receiver_wallet_address: receiver } = body
  const owner = (await readNft({ client, signal }, nft_gdn_id))?.receiver_wallet_address
  const unknownResult = (reason: string): SearchResult => ({ kind: 'unknown', reason, ids: [] })
  if (!owner) return unknownResult('the server returns no owner for the NFT')
  if (isSameAddress(owner, receiver) && !isSameAddress(sender, receiver)) {
    return { kind: 'accepted', accepted: acceptedObjectsOf([], now()) }
  }
  return unknownResult(
    isSameAddress(owner, sender)
      ? 'the NFT still belongs to its sender, but the transfer may be pending'
      : `the NFT belongs to ${owner} now`,
  )
}

const acceptedObjectsOf = (ids: readonly string[], at: number): AcceptedObjects => ({
  nfts: ids.map((nft_gdn_id) => ({ nft_gdn_id, accepted_date: null })),
  transaction_gdn_id: null,
  accepted_date: null,
  by: 'found',
  at,
})

/**
 * Returns whether the server still has the objects that it accepted. Also returns true if the server has no endpoint
 * for this check.
 */
export async function isKnownToServer(
  accepted: AcceptedObjects,
  { transactionsFrom }: Creation,
  { client, signal }: Pick<SearchDeps, 'client' | 'signal'>,
): Promise<boolean> {
  const ids = accepted.nfts.map(({ nft_gdn_id }) => nft_gdn_id)
  const id = accepted.transaction_gdn_id
  try {
    if (ids.length > 0) {
      return (await client.call('getnfts', { nft_gdn_ids: ids.slice(0, IDS_PER_CALL) }, { signal })).nfts.length > 0
    }
    if (id === null) return true
    const request = { transaction_gdn_ids: [id] }
    return transactionsFrom === 'getcollections'
      ? (await client.call('getcollections', request, { signal })).collections.length > 0
      : (await client.call('gettransactions', request, { signal })).transactions.length > 0
  } catch (error) {
    if (lacksEndpoint(error)) return true
    throw error
  }
}
