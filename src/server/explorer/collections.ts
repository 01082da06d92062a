import { setImmediate as nextTurn } from 'node:timers/promises'
import { canonicalAddress, ZERO_ADDRESS } from '../../api/address.ts'
import { type Blockchain, isBlockchain, isEvm } from '../../api/blockchains.ts'
import type { CollectionSettings } from '../../api/endpoints/getcollectionsettings.ts'
import { isoTime } from '../../core/time.ts'
import { readCollectionImage, readCollectionSettings } from '../services/collection-settings.ts'
import { toLifecycleFields } from '../store/collections.ts'
import {
  collectionIds,
  collectionNames,
  countCollections,
  countOwnersAfter,
  findVisibleCollections,
  listVisibleCollections,
  type VisibleCollection,
} from '../store/explorer-collections.ts'
import { readCollectionCounts, ZERO_COUNTS } from '../store/explorer-counts.ts'
import { countOwnedInCollection, firstNfts, type SummaryRow } from '../store/explorer-nfts.ts'
import { findTransactions, sumGasOfCollection } from '../store/explorer-transactions.ts'
import { fold } from '../store/title-index.ts'
import { type ExplorerDeps, type Part, shortenForList, type Viewer } from './explorer.ts'
import { readMedia } from './media.ts'
import { summariesOf } from './nft-summary.ts'
import { toCounts } from './places.ts'
import { toExplorerTransaction } from './transactions.ts'
import type { CollectionDetails, CollectionSummary, NftDetails, NftMedia, Page } from './types.ts'

const MAX_COVERS = 4
/**
 * Number of NFTs whose images are considered as covers. It is larger than needed, because some NFTs may have no image.
 */
const COVER_CANDIDATES = 6
/** Number of names that are compared with a search text. */
const MAX_SEARCHED_NAMES = 20_000

export const toCollectionRef = (row: VisibleCollection): NftDetails['collection'] => ({
  transaction_gdn_id: row.id,
  contract_address: row.contract_address,
  blockchain: row.blockchain,
  name: row.name,
})

/** Returns an address in the form in which it is stored, regardless of its case. Returns other text unchanged. */
export const normalizeAddress = (text: string, blockchain: Blockchain = 'polygon'): string =>
  canonicalAddress(text.replace(/^0X/, '0x'), blockchain)

/** Returns the collection with this ID or address, if the viewer may see it. */
export async function findSeenCollection(
  { db }: ExplorerDeps,
  { accountId }: Viewer,
  name: string,
  blockchain: string | null,
): Promise<VisibleCollection | null> {
  const rows = await findVisibleCollections(db, accountId, { id: name, address: normalizeAddress(name) })
  return (blockchain === null ? rows[0] : rows.find((row) => row.blockchain === blockchain)) ?? null
}

/** Returns summaries of collections, in the given order. */
export async function collectionSummaries(
  explorer: ExplorerDeps,
  rows: readonly VisibleCollection[],
  imageOf = recentImage,
): Promise<CollectionSummary[]> {
  const ids = rows.map((row) => row.id)
  const counts = await readCollectionCounts(explorer.db, ids)
  const first = await firstNfts(explorer.db, ids, COVER_CANDIDATES)
  return await Promise.all(
    rows.map(async (row) => ({
      ...toCollectionRef(row),
      name: shortenForList(row.name),
      status: row.status,
      error: row.error === null ? null : shortenForList(row.error),
      created_at: isoTime(row.accepted_at),
      counts: toCounts(counts.get(row.id) ?? ZERO_COUNTS),
      covers: await loadCovers(
        explorer,
        await imageOf(explorer, row),
        first.filter((nft) => nft.collection_id === row.id),
      ),
    })),
  )
}

/** Returns the image of a collection. The result is cached for a minute, because lists have many collections. */
async function recentImage(explorer: ExplorerDeps, row: VisibleCollection): Promise<string | null> {
  const minute = Math.floor(explorer.now() / 60_000)
  const read = async () => ({ image: await readCollectionImage(explorer, row) })
  const recent = await explorer.slow.getSoon(`image ${row.id}`, `${row.status} ${minute}`, read)
  return recent === null ? row.image : recent.image
}

async function loadCovers(
  explorer: ExplorerDeps,
  image: string | null,
  first: readonly SummaryRow[],
): Promise<NftMedia[]> {
  const collectionCover = await loadOwnImage(explorer, image)
  if (collectionCover !== null) return [collectionCover]
  const covers = new Map<string, NftMedia>()
  for (const { image: cover } of await summariesOf(explorer, first)) {
    if (cover?.url && (cover.kind === 'image' || cover.kind === 'svg')) covers.set(cover.url, cover)
  }
  return [...covers.values()].slice(0, MAX_COVERS)
}

/** Returns a collection's own image if it is in this server's storage, otherwise null. Never fetches the image. */
async function loadOwnImage({ media }: ExplorerDeps, image: string | null): Promise<NftMedia | null> {
  const place = /^ipfs:\/\/([^?#]+)$/i.exec(image ?? '')?.[1]
  if (image === null || place === undefined) return null
  const shownMedia = await readMedia(media, { field: 'image', source: shortenForList(image), place })
  return shownMedia.kind === 'image' || shownMedia.kind === 'svg' ? shownMedia : null
}

export async function listSeenCollections(
  explorer: ExplorerDeps,
  { accountId }: Viewer,
  { offset, limit, q }: Part & { q: string | null },
): Promise<Page<CollectionSummary>> {
  const { db } = explorer
  if (q !== null) {
    const matchingIds = await searchCollectionIds(explorer, { accountId }, q)
    const rows = await listVisibleCollections(db, accountId, matchingIds.slice(offset, offset + limit))
    return { total: matchingIds.length, offset, items: await collectionSummaries(explorer, rows) }
  }
  const ids = await collectionIds(db, accountId, { offset, limit })
  const rows = await listVisibleCollections(db, accountId, ids)
  return { total: await countCollections(db, accountId), offset, items: await collectionSummaries(explorer, rows) }
}

/** Returns IDs of collections whose name or address contains a string, newest first. */
export async function searchCollectionIds(
  { db }: ExplorerDeps,
  { accountId }: Viewer,
  text: string,
): Promise<string[]> {
  const folded = fold(text.trim())
  if (folded === '') return []
  const names = await collectionNames(db, accountId, MAX_SEARCHED_NAMES)
  return names
    .filter(({ name, contract_address }) => fold(name).includes(folded) || fold(contract_address).includes(folded))
    .map(({ id }) => id)
}

/** Returns the details of a collection. */
export async function showCollection(explorer: ExplorerDeps, row: VisibleCollection): Promise<CollectionDetails> {
  const { db, slow } = explorer
  const settings = await readSettings(explorer, row)
  const [summary] = await collectionSummaries(explorer, [row], async () => (settings ?? row).image)
  if (summary === undefined) throw new Error(`no summary of ${row.id}`)
  const [transaction] =
    row.transaction_id === null ? [] : await findTransactions(db, { by: 'id', ids: [row.transaction_id] })
  const { deployed } = summary.counts
  const ofEvm = isBlockchain(row.blockchain) && isEvm(row.blockchain)
  const state = JSON.stringify(summary.counts)
  const countBurned = () => countOwnedInCollection(db, row.id, ZERO_ADDRESS)
  return {
    ...summary,
    name: row.name,
    description: (settings ?? row).description,
    wallet_address: row.wallet_address,
    enable_api: row.enable_api === 1,
    enable_transfer: row.enable_transfer === 1,
    is_locked: row.is_locked === 1,
    owners:
      deployed === 0
        ? 0
        : await slow.get(`owners ${row.id}`, `${state} ${recentPeriod(explorer)}`, () => countOwners(explorer, row.id)),
    burned: deployed === 0 ? 0 : await slow.get(`burned ${row.id}`, `${state} ${recentPeriod(explorer)}`, countBurned),
    ...toLifecycleFields(row),
    ...(settings && { royalty_bps: settings.royalty_bps, royalty_receiver: settings.royalty_receiver }),
    is_read_from_chain: settings?.is_read_from_chain ?? false,
    settings_problem: settings?.problem ?? null,
    gas_used: ofEvm
      ? await slow.getSoon(`gas ${row.id}`, `${state} ${recentPeriod(explorer)}`, () => sumGasOfCollection(db, row.id))
      : null,
    transaction: transaction === undefined ? null : toExplorerTransaction(explorer, transaction),
  }
}

/**
 * Returns the current settings of a collection; null if the collection's chain doesn't respond to the first request in
 * time. Reads only settings that can change without an event. The owner, the flags and freezes are in the database.
 */
async function readSettings(explorer: ExplorerDeps, row: VisibleCollection): Promise<CollectionSettings | null> {
  const read = () => readCollectionSettings(explorer, row)
  return await explorer.slow.getSoon(`settings ${row.id}`, `${row.status} ${recentPeriod(explorer)}`, read)
}

/**
 * Returns a number that changes every 5 s. If it is part of a cached value's state, the value expires after 5 s. Some
 * values, such as the number of owners, can change while all counts stay the same.
 */
export const recentPeriod = ({ now }: ExplorerDeps): number => Math.floor(now() / 5000)

/** Number of index entries that one query reads, which takes a few milliseconds. */
const ENTRIES_PER_BATCH = 20_000

async function countOwners({ db }: ExplorerDeps, collectionId: string): Promise<number> {
  let owners = 0
  for (let after = ''; ; ) {
    const { count, last } = await countOwnersAfter(db, collectionId, after, ENTRIES_PER_BATCH)
    owners += count
    if (last === null) return owners
    after = last
    await nextTurn()
  }
}
