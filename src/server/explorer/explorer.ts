import { isBlockchain } from '../../api/blockchains.ts'
import { formatTraitValue, readAttribute } from '../../api/traits.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import { isContentUrl } from '../../core/ipfs-url.ts'
import { isRecord, parseJson } from '../../core/json.ts'
import { shorten } from '../../core/shorten.ts'
import type { ServiceDeps } from '../services/services.ts'
import type { Db } from '../store/schema.ts'
import { type Indexer, startIndexer } from './indexer.ts'
import { createMediaReader, type FileField, type MediaReader } from './media.ts'
import { createSlowFacts, type SlowFacts } from './slow-facts.ts'
import type { NftDetails } from './types.ts'

/** Maximum number of cached entries. They take at most about ten megabytes. */
const MAX_CACHED = 1000

/**
 * The viewer of the web explorer. A viewer with an account sees only its data. A viewer whose account is null sees
 * everything.
 */
export interface Viewer {
  accountId: string | null
}

/** The requested part of a list. */
export interface Part {
  offset: number
  limit: number
}

/** Dependencies of the web explorer's handlers. */
export interface ExplorerDeps {
  db: Db
  media: MediaReader
  indexer: Indexer
  slow: SlowFacts
  chains: ServiceDeps['chains']
  storage: ServiceDeps['storage']
  /** Cached summaries of long metadata, by NFT and update. */
  longSummaries: BoundedMap<ListedMetadata>
  /** Returns the block explorer's URL of a transaction; null if the configuration has none. */
  linkOf(blockchain: string, hash: string): string | null
  now: () => number
}

export function createExplorer({
  store,
  storage,
  chains,
  now,
  onError,
}: Pick<ServiceDeps, 'store' | 'storage' | 'chains' | 'now'> & { onError: (error: unknown) => void }): ExplorerDeps {
  return {
    db: store.db,
    media: createMediaReader(storage),
    indexer: startIndexer({ store, now, onError }),
    slow: createSlowFacts(),
    chains,
    storage,
    longSummaries: new BoundedMap(MAX_CACHED),
    linkOf: (blockchain, hash) => (isBlockchain(blockchain) ? chains.transactionUrl(blockchain, hash) : null),
    now,
  }
}

/** Maximum length of a title or URL in lists. The limit keeps responses small even if the metadata is large. */
const MAX_LIST_TEXT_LENGTH = 500

export const shortenForList = (text: string): string => shorten(text, MAX_LIST_TEXT_LENGTH)

/** The parsed metadata of a request. Its content is untrusted. */
interface ParsedMetadata {
  title: string
  description: string | null
  attributes: NftDetails['attributes']
  fields: { key: string; url: string }[]
  /** The metadata as the client sent it. */
  original: unknown
}

/** The part of the metadata that lists show. */
export type ListedMetadata = Pick<ParsedMetadata, 'title' | 'fields'>

const stringOrEmpty = (value: unknown): string => (typeof value === 'string' ? value : '')

export function parseJsonOrNull(json: string | null): unknown {
  return json === null ? null : (parseJson(json) ?? null)
}

export function parseMetadata(json: string): ParsedMetadata {
  const original = parseJsonOrNull(json)
  const { title, description, attribute, file_fields } = isRecord(original) ? original : {}
  return {
    title: stringOrEmpty(title),
    description: typeof description === 'string' ? description : null,
    attributes: (Array.isArray(attribute) ? attribute : [])
      .filter(isRecord)
      .map(readAttribute)
      .map((entry) => ({ trait_type: entry.tag, value: formatTraitValue(entry) })),
    fields: (Array.isArray(file_fields) ? file_fields : [])
      .filter(isRecord)
      .map(({ key, url }) => ({ key: stringOrEmpty(key), url: stringOrEmpty(url) })),
    original,
  }
}

/** Returns the files of an NFT, with their IPFS paths if they are stored. */
export function toFileFields({ fields }: Pick<ParsedMetadata, 'fields'>, files: string | null): FileField[] {
  const stored = parseJsonOrNull(files)
  return fields.map(({ key, url }) => {
    const place = isRecord(stored) && Object.hasOwn(stored, key) ? stringOrEmpty(stored[key]) : ''
    return { field: key, source: url, place: place === '' || isContentUrl(place) ? null : place }
  })
}
