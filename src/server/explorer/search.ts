import {
  accountsWithCollections,
  findVisibleCollections,
  listVisibleCollections,
} from '../store/explorer-collections.ts'
import {
  listNftsAt,
  listNftsByTokenId,
  listNftsOfPendingTransaction,
  nftsById,
  type SummaryRow,
} from '../store/explorer-nfts.ts'
import { listSeqsWithTerms } from '../store/explorer-terms.ts'
import {
  type ExplorerTransaction,
  findTransactionIdByHash,
  findTransactions,
  listChangedNftIds,
} from '../store/explorer-transactions.ts'
import { findVisibleResponse } from '../store/requests.ts'
import { findVisibleRun } from '../store/runs.ts'
import { cidTerm } from '../store/title-index.ts'
import { collectionSummaries, findSeenCollection, normalizeAddress, searchCollectionIds } from './collections.ts'
import { type ExplorerDeps, parseJsonOrNull, type Viewer } from './explorer.ts'
import { listOwned, withCollections } from './nft-lists.ts'
import { runSummaries } from './runs.ts'
import { findTitled } from './titled.ts'
import type { SearchHit, SearchResult } from './types.ts'

const MAX_HITS = 50
/** Maximum number of accounts that are searched if the viewer may see all. */
const MAX_ACCOUNTS = 50

/** Finds the item or the NFTs that a search text identifies exactly. */
type Finder = (explorer: ExplorerDeps, viewer: Viewer, text: string) => Promise<SearchHit[]>

const collectionHits = async (explorer: ExplorerDeps, viewer: Viewer, ids: readonly string[]): Promise<SearchHit[]> => {
  const rows = await listVisibleCollections(explorer.db, viewer.accountId, ids)
  return (await collectionSummaries(explorer, rows)).map((collection) => ({ kind: 'collection', collection }))
}

const nftHits = async (explorer: ExplorerDeps, viewer: Viewer, rows: readonly SummaryRow[]): Promise<SearchHit[]> =>
  (await withCollections(explorer, viewer, rows)).map(({ collection, ...nft }) => ({ kind: 'nft', nft, collection }))

const findCollection: Finder = async (explorer, viewer, text) => {
  const collection = await findSeenCollection(explorer, viewer, text, null)
  return collection === null ? [] : await collectionHits(explorer, viewer, [collection.id])
}

const findNft: Finder = async (explorer, viewer, text) =>
  await nftHits(explorer, viewer, await nftsById(explorer.db, [text.toLowerCase()]))

/** Matches `<contract>/<token ID>`, on any blockchain. */
const findToken: Finder = async (explorer, viewer, text) => {
  const [, contract, token] = /^(0x[0-9a-f]{40})\/(\d{1,78})$/i.exec(text) ?? []
  if (contract === undefined || token === undefined) return []
  const address = normalizeAddress(contract)
  const collections = await findVisibleCollections(explorer.db, viewer.accountId, { id: address, address })
  const rows = await Promise.all(
    collections.map(({ id }) => listNftsByTokenId(explorer.db, id, [BigInt(token).toString()])),
  )
  return await nftHits(explorer, viewer, rows.flat())
}

/** Matches an address, on any blockchain, that owns NFTs. */
const findOwner: Finder = async (explorer, viewer, text) => {
  if (!/^(0x[0-9a-f]{40}|[1-9a-z]{32,44})$/i.test(text)) return []
  const { total } = await listOwned(explorer, viewer, text, { offset: 0, limit: 0 })
  return total === 0 ? [] : [{ kind: 'owner', address: normalizeAddress(text), nfts: total }]
}

const findRun: Finder = async (explorer, viewer, text) => {
  const seenRun = await findVisibleRun(explorer.db, viewer.accountId, text)
  if (seenRun === null) return []
  return (await runSummaries(explorer, viewer, [seenRun])).map((run) => ({ kind: 'run', run }))
}

/** Matches the ID of a request, and finds what the request created. */
const findRequest: Finder = async (explorer, viewer, text) => {
  const response = parseJsonOrNull(await findVisibleResponse(explorer.db, viewer.accountId, text))
  const ids = JSON.stringify(response ?? null).match(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g) ?? []
  const searchedIds = [...new Set(ids)].slice(0, MAX_HITS)
  const nfts = await nftHits(explorer, viewer, await nftsById(explorer.db, searchedIds))
  return nfts.length > 0 ? nfts : await collectionHits(explorer, viewer, searchedIds)
}

/** Matches the ID of a transfer, update, freeze or burn. */
const findChange: Finder = async (explorer, viewer, text) => {
  const ids = await listChangedNftIds(explorer.db, 'id', text.toLowerCase())
  return await nftHits(explorer, viewer, await nftsById(explorer.db, ids))
}

const findTransaction: Finder = async (explorer, viewer, text) => {
  const { db } = explorer
  const hash = /^0x/i.test(text) ? text.toLowerCase() : text
  const [transaction] = await findTransactions(db, { by: 'hash', text: hash }, 1)
  if (transaction !== undefined) return await hitsOfTransaction(explorer, viewer, transaction)
  const attempt = await findTransactionIdByHash(db, hash)
  const [signed] = attempt === null ? [] : await findTransactions(db, { by: 'id', ids: [attempt] }, 1)
  return signed === undefined ? [] : await hitsOfTransaction(explorer, viewer, signed)
}

/** Returns the NFTs that a transaction minted or changed, or the collection that it deployed. */
async function hitsOfTransaction(
  explorer: ExplorerDeps,
  viewer: Viewer,
  transaction: ExplorerTransaction,
): Promise<SearchHit[]> {
  const { db } = explorer
  const { id, kind, collection_id, start_id, mint, token_count } = transaction
  // A transaction that changes existing NFTs has no collection.
  if (collection_id === null) {
    return await nftHits(explorer, viewer, await nftsById(db, await listChangedNftIds(db, 'transaction_id', id)))
  }
  if (kind === 'collection') return await collectionHits(explorer, viewer, [collection_id])
  const tokens = mint !== null ? [mint] : start_id === null ? [] : tokensFrom(start_id, Math.min(token_count, MAX_HITS))
  const minted = await listNftsByTokenId(db, collection_id, tokens)
  return await nftHits(
    explorer,
    viewer,
    minted.length > 0 ? minted : await listNftsOfPendingTransaction(db, id, MAX_HITS),
  )
}

const tokensFrom = (start: string, count: number): string[] =>
  /^\d+$/.test(start) ? Array.from({ length: count }, (_, index) => String(BigInt(start) + BigInt(index))) : []

/** Returns the NFTs that have a file with this CID, or whose metadata is in the directory with this CID. */
const findCid: Finder = async (explorer, viewer, text) => {
  const cid = text.replace(/^(ipfs:\/\/|\/ipfs\/)/i, '').split('/')[0] ?? ''
  if (!/^[A-Za-z0-9]{32,128}$/.test(cid)) return []
  const { db } = explorer
  await explorer.indexer.caughtUp()
  const terms = (await listSearchedAccounts(explorer, viewer)).map((accountId) => cidTerm(accountId, cid))
  const rows = await listNftsAt(db, await listSeqsWithTerms(db, terms, { limit: MAX_HITS }))
  const having = rows.filter((row) => row.files?.includes(cid))
  if (having.length > 0) return await nftHits(explorer, viewer, having.reverse())
  const transactions = await findTransactions(db, { by: 'directory', text: cid }, MAX_HITS)
  const hits: SearchHit[] = []
  for (const transaction of transactions) {
    if (hits.length < MAX_HITS) hits.push(...(await hitsOfTransaction(explorer, viewer, transaction)))
  }
  return hits
}

const listSearchedAccounts = async ({ db }: ExplorerDeps, { accountId }: Viewer): Promise<string[]> =>
  accountId === null ? await accountsWithCollections(db, MAX_ACCOUNTS) : [accountId]

const FINDERS = [
  findNft,
  findToken,
  findCollection,
  findChange,
  findRun,
  findOwner,
  findTransaction,
  findRequest,
  findCid,
]

/** Searches for exact matches first, then for collections by name or address, and for NFTs by title. */
export async function search(explorer: ExplorerDeps, viewer: Viewer, query: string): Promise<SearchResult> {
  const text = query.trim()
  if (text === '') return { exact: null, hits: [] }
  const hits: SearchHit[] = []
  if (!/\s/.test(text)) {
    for (const find of FINDERS) hits.push(...(await find(explorer, viewer, text)))
  }
  const exact = hits.length === 1 ? (hits[0] ?? null) : null
  const rest = MAX_HITS - hits.length
  if (rest > 0 && exact === null) {
    const matchingIds = (await searchCollectionIds(explorer, viewer, text)).slice(0, rest)
    hits.push(...(await collectionHits(explorer, viewer, matchingIds)))
  }
  if (hits.length < MAX_HITS && exact === null) {
    const accountIds = await listSearchedAccounts(explorer, viewer)
    const titled = await findTitled(explorer, { accountIds, text, limit: MAX_HITS })
    hits.push(...(await nftHits(explorer, viewer, titled)))
  }
  return { exact, hits: withoutRepeats(hits).slice(0, MAX_HITS) }
}

function withoutRepeats(hits: readonly SearchHit[]): SearchHit[] {
  const seenKeys = new Set<string>()
  return hits.filter((hit) => {
    const key = JSON.stringify([hit.kind, hitKey(hit)])
    const isNew = !seenKeys.has(key)
    seenKeys.add(key)
    return isNew
  })
}

function hitKey(hit: SearchHit): string {
  if (hit.kind === 'nft') return hit.nft.nft_gdn_id
  if (hit.kind === 'collection') return hit.collection.transaction_gdn_id
  return hit.kind === 'owner' ? hit.address : hit.run.run
}
