import { ZERO_ADDRESS } from '../../api/address.ts'
import { isBlockchain } from '../../api/blockchains.ts'
import { changeMarker } from '../store/change-marker.ts'
import { listVisibleCollections, type VisibleCollection } from '../store/explorer-collections.ts'
import { listBuckets } from '../store/explorer-counts.ts'
import {
  countOwnedByCollection,
  countOwnedInCollection,
  listNftsByTokenId,
  listNftsOfBuckets,
  listOwnedNfts,
  type SummaryRow,
} from '../store/explorer-nfts.ts'
import { normalizeAddress, toCollectionRef } from './collections.ts'
import { type ExplorerDeps, type Part, shortenForList, type Viewer } from './explorer.ts'
import { summariesOf } from './nft-summary.ts'
import { locatePage } from './places.ts'
import { findTitled } from './titled.ts'
import type { NftDetails, NftSummary, Page, Status } from './types.ts'

export interface NftFilter {
  status: Status | null
  owner: string | null
  q: string | null
}

/** Returns NFTs of a collection in the order of acceptance. */
export async function listNfts(
  explorer: ExplorerDeps,
  collection: VisibleCollection,
  { status, owner, q, ...part }: Part & NftFilter,
): Promise<Page<NftSummary>> {
  if (q !== null) return await searchInCollection(explorer, collection, { status, owner, q, ...part })
  if (owner !== null) return await listOwnedInCollection(explorer, collection, { status, owner, ...part })
  return await listInBuckets(explorer, { collectionId: collection.id, run: null }, { status, ...part })
}

const BUCKETS_PER_BATCH = 4

/** Returns NFTs of a collection, or of one of its runs, in the order of acceptance. */
export async function listInBuckets(
  explorer: ExplorerDeps,
  scope: { collectionId: string; run: string | null },
  { status, offset, limit }: Part & { status: Status | null },
): Promise<Page<NftSummary>> {
  const { db } = explorer
  const { total, places } = locatePage(await listBuckets(db, scope), { status, offset, limit })
  const rows: SummaryRow[] = []
  // Read all buckets for failed NFTs, which have a separate index. In the other states, most rows of a bucket match, so
  // a few buckets fill a page.
  const bucketsPerBatch = status === 'failed' ? places.length : BUCKETS_PER_BATCH
  for (let at = 0; at < places.length && rows.length < limit; at += bucketsPerBatch) {
    const bucketPlaces = places.slice(at, at + bucketsPerBatch)
    const range = { first: bucketPlaces[0]?.bucket ?? 0, last: bucketPlaces.at(-1)?.bucket ?? 0 }
    const page = { offset: bucketPlaces[0]?.offset ?? 0, limit: limit - rows.length }
    rows.push(...(await listNftsOfBuckets(db, { ...scope, ...range, status }, page)))
  }
  return { total, offset, items: await summariesOf(explorer, rows) }
}

async function listOwnedInCollection(
  explorer: ExplorerDeps,
  { id, blockchain }: VisibleCollection,
  { status, owner, offset, limit }: Part & { status: Status | null; owner: string },
): Promise<Page<NftSummary>> {
  const { db, slow } = explorer
  const address = isBlockchain(blockchain) ? normalizeAddress(owner, blockchain) : owner
  // Only deployed NFTs that aren't burned have an owner.
  if ((status !== null && status !== 'deployed') || address === ZERO_ADDRESS) return { total: 0, offset, items: [] }
  const rows = await listOwnedNfts(db, { collectionId: id, owner: address }, { offset, limit })
  const total = await slow.get(`owned by ${address} in ${id}`, await changeMarker(db), () =>
    countOwnedInCollection(db, id, address),
  )
  return { total, offset, items: await summariesOf(explorer, rows) }
}

/** Searches a collection's NFTs by the words of their titles and by token ID. */
async function searchInCollection(
  explorer: ExplorerDeps,
  { id, account_id, blockchain }: VisibleCollection,
  { status, owner, q, offset, limit }: Part & NftFilter & { q: string },
): Promise<Page<NftSummary>> {
  const address = owner === null ? null : isBlockchain(blockchain) ? normalizeAddress(owner, blockchain) : owner
  const titled = await findTitled(explorer, { accountIds: [account_id], text: q, collectionId: id })
  const numbered = await listNftsByTokenId(explorer.db, id, [q.trim().replace(/^#/, '')])
  const seqs = new Set(titled.map((row) => row.seq))
  const matches = [...titled, ...numbered.filter((row) => !seqs.has(row.seq))].filter(
    (row) => (status === null || row.status === status) && (address === null || row.owner === address),
  )
  matches.sort((a, b) => a.seq - b.seq)
  return { total: matches.length, offset, items: await summariesOf(explorer, matches.slice(offset, offset + limit)) }
}

/** Returns the NFTs that an address owns, in collections that the viewer may see. */
export async function listOwned(
  explorer: ExplorerDeps,
  { accountId }: Viewer,
  address: string,
  { offset, limit }: Part,
): Promise<Page<NftSummary & { collection: NftDetails['collection'] }>> {
  const { db, slow } = explorer
  const owner = normalizeAddress(address)
  // Burned NFTs have no owner.
  if (owner === ZERO_ADDRESS) return { total: 0, offset, items: [] }
  const counts = await slow.get(`owned by ${owner} for ${accountId}`, await changeMarker(db), () =>
    countOwnedByCollection(db, accountId, owner),
  )
  const rows: SummaryRow[] = []
  let before = 0
  for (const { id, count } of counts) {
    if (before + count > offset && rows.length < limit) {
      const page = { offset: Math.max(0, offset - before), limit: limit - rows.length }
      rows.push(...(await listOwnedNfts(db, { collectionId: id, owner }, page)))
    }
    before += count
  }
  return { total: before, offset, items: await withCollections(explorer, { accountId }, rows) }
}

/** Returns NFTs for lists that span collections. Omits NFTs that the viewer may not see. */
export async function withCollections(
  explorer: ExplorerDeps,
  { accountId }: Viewer,
  rows: readonly SummaryRow[],
): Promise<(NftSummary & { collection: NftDetails['collection'] })[]> {
  const ids = [...new Set(rows.map((row) => row.collection_id))]
  const collections = new Map(
    (await listVisibleCollections(explorer.db, accountId, ids)).map((row) => [row.id, toCollectionRef(row)]),
  )
  const visibleRows = rows.filter((row) => collections.has(row.collection_id))
  const summaries = await summariesOf(explorer, visibleRows)
  return summaries.flatMap((summary, index) => {
    const collection = collections.get(visibleRows[index]?.collection_id ?? '')
    return collection === undefined
      ? []
      : [{ ...summary, collection: { ...collection, name: shortenForList(collection.name) } }]
  })
}
