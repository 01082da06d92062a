import type { NftRecord } from '../../api/nft-record.ts'
import { addressKey } from '../../api/same-address.ts'
import { PROVENANCE_SALT, PROVENANCE_SIGNATURE } from '../../manifest/reveal-keys.ts'
import type { ManifestRow } from '../../manifest/row.ts'
import { findCurrentOwner, metadataHash, possibleOwners } from '../../operations/reconcile/content-and-owners.ts'
import { type RecordSource, readPages } from '../../operations/reconcile/listing.ts'
import type { Match } from '../../operations/reconcile/match-groups.ts'
import type { StoredRow } from '../rows/manifest-row.ts'

type Metadata = Pick<ManifestRow, 'metadata'>['metadata']

/** An NFT that matches a row, with its current holder and the hash of its complete metadata. */
type FoundNft = Match & { holder: string | null; name: string | null; content: string }

/** The number of NFTs of each kind in one search of the collection. See `RowLookup.read`. */
export interface SearchCounts {
  fresh: number
  unread: number
  incomplete: number
}

/** A row and the NFT that matches it. */
export interface FoundRow {
  row: StoredRow
  match: FoundNft
}

/**
 * Returns whether an NFT was minted to a possible owner of its row, or belongs to one now. Also returns true if the
 * NFT's owner isn't known yet, or if the NFT was minted to the row's ENS name. The address of that name may have
 * changed since.
 */
export function hasOwnerOf({ row, match: { owner, holder, name } }: FoundRow): boolean {
  const owners = possibleOwners(row.row)
  if (name !== null && name === row.row.receiverName) return true
  return owner === null || owners.includes(owner) || (holder !== null && owners.includes(holder))
}

/**
 * Returns the content of a row and the content of its NFT, which are equal if the row matches the NFT. A local file
 * matches any file with the same key.
 *
 * @returns null for an NFT without metadata
 */
export function hashContents(
  row: ManifestRow,
  nft: NftRecord,
  markerKey: string | undefined,
): { row: string; nft: string } | null {
  const metadata = readUnmarkedMetadata(nft, markerKey)
  if (metadata === null) return null
  const keys = new Set(row.localFiles.map(({ key }) => key))
  return { row: hashRowContent(row), nft: metadataHash(withoutValues(metadata, keys)) }
}

/**
 * Returns whether an NFT that wasn't matched with the row was minted to a possible owner of the row, or belongs to one
 * now.
 */
export const isOwnedBy = (row: StoredRow, nft: NftRecord): boolean => hasOwnerOf({ row, match: foundNft(nft) })

function foundNft(nft: NftRecord): FoundNft {
  const holder = findCurrentOwner(nft)
  // The NFT may have been transferred or burned since its mint.
  const owner = nft.minted_to ? addressKey(nft.minted_to) : holder
  const name = nft.receiver_name ?? null
  return { id: nft.nft_gdn_id, owner, holder, name, content: metadataHash(nft.request_metadata) }
}

/** Returns an NFT's metadata without the marker of its row, or null if the server has no metadata yet. */
function readUnmarkedMetadata({ request_metadata }: NftRecord, markerKey: string | undefined): Metadata | null {
  if (request_metadata === null || typeof request_metadata !== 'object') return null
  const metadata = { ...request_metadata } as Metadata
  if (markerKey !== undefined) delete metadata[markerKey]
  return metadata
}

export const hashRowContent = ({ metadata, localFiles }: ManifestRow): string =>
  metadataHash(withoutValues(metadata, new Set(localFiles.map(({ key }) => key))))

/**
 * Finds rows of a manifest among NFTs of a collection. Stores hashes of all rows, but only the NFTs that match a row. A
 * local file matches any file with the same key, because its URL isn't known before the upload.
 */
export class RowLookup {
  readonly #rows: () => AsyncIterable<StoredRow>
  readonly #markerKey: string | undefined
  readonly #contents = new Set<string>()
  /** The distinct sets of file keys for which rows have local files. */
  readonly #localKeys = new Map<string, string[]>()
  readonly #readIds = new Set<string>()
  /** IDs of NFTs that had no metadata when they were read. They are read again. */
  readonly #incompleteIds: string[] = []
  readonly #matches = new Map<string, FoundNft[]>()
  readonly #isOfOtherDrop: (metadata: unknown) => boolean
  readonly #byOwner: boolean
  #isIndexed = false

  /**
   * Creates a lookup, which reads the rows when they are first needed.
   *
   * @param isOfOtherDrop returns whether an NFT matches no row, even if it has the content of a row
   * @param byOwner whether an NFT matches only rows of its first owner, if the server returns that owner. Set for a
   *   list of receivers, whose rows all have the same content
   */
  constructor(
    rows: () => AsyncIterable<StoredRow>,
    markerKey: string | undefined,
    {
      isOfOtherDrop = () => false,
      byOwner = false,
    }: { isOfOtherDrop?: ((metadata: unknown) => boolean) | undefined; byOwner?: boolean } = {},
  ) {
    this.#rows = rows
    this.#markerKey = markerKey
    this.#isOfOtherDrop = isOfOtherDrop
    this.#byOwner = byOwner
  }

  /**
   * Reads the NFTs that weren't read before, and reads the NFTs without metadata again.
   *
   * @returns the number of NFTs that are new, that have no record yet, and whose record has no metadata
   * @throws the same errors as `readPages`
   */
  async read(
    source: RecordSource,
    ids: Iterable<string>,
    onProgress: (done: number, total: number) => void,
  ): Promise<SearchCounts> {
    const fresh = [...ids].filter((id) => !this.#readIds.has(id))
    const idsToRead = [...fresh, ...this.#incompleteIds.splice(0)]
    if (idsToRead.length === 0) return { fresh: 0, unread: 0, incomplete: 0 }
    await this.#index()
    let unread = idsToRead.length
    for await (const { nfts, done } of readPages(source, idsToRead)) {
      unread -= nfts.length
      for (const nft of nfts) this.#sort(nft)
      onProgress(done, idsToRead.length)
    }
    return { fresh: fresh.length, unread, incomplete: this.#incompleteIds.length }
  }

  get hasMatches(): boolean {
    return this.#matches.size > 0
  }

  /**
   * Yields each row with an NFT that has its content. Equal rows get different NFTs, until no NFTs with this content
   * are left.
   */
  async *findRows(): AsyncGenerator<FoundRow> {
    const unusedMatches = new Map([...this.#matches].map(([content, matches]) => [content, matches.slice()]))
    for await (const row of this.#rows()) {
      const matches = this.#keysOf(row.row)
        .map((key) => unusedMatches.get(key) ?? [])
        .find(({ length }) => length > 0)
      if (matches === undefined) continue
      const match = takeBestMatch(matches, row.row)
      if (match !== null) yield { row, match }
    }
  }

  async #index(): Promise<void> {
    if (this.#isIndexed) return
    this.#isIndexed = true
    for await (const { row } of this.#rows()) {
      for (const key of this.#keysOf(row)) this.#contents.add(key)
      const keys = row.localFiles.map(({ key }) => key).sort()
      this.#localKeys.set(JSON.stringify(keys), keys)
    }
  }

  /** Returns the keys of the NFTs that match a row. */
  #keysOf(row: ManifestRow): string[] {
    const content = hashRowContent(row)
    if (!this.#byOwner) return [content]
    const owners = [...possibleOwners(row), ...(row.receiverName === undefined ? [] : [row.receiverName])]
    return [...owners.map((owner) => content + owner), content]
  }

  #sort(nft: NftRecord): void {
    this.#readIds.add(nft.nft_gdn_id)
    const metadata = readUnmarkedMetadata(nft, this.#markerKey)
    if (metadata === null) {
      this.#incompleteIds.push(nft.nft_gdn_id)
      return
    }
    const owner = this.#byOwner && nft.minted_to ? addressKey(nft.minted_to) : ''
    const byName = this.#byOwner && nft.receiver_name ? this.#keyOf(metadata, nft.receiver_name) : null
    const key = this.#isOfOtherDrop(nft.request_metadata) ? null : (byName ?? this.#keyOf(metadata, owner))
    if (key === null) return
    const matches = this.#matches.get(key) ?? []
    this.#matches.set(key, matches)
    matches.push(foundNft(nft))
  }

  /** Returns the key of the rows that match an NFT, or null if no row matches. */
  #keyOf(metadata: Metadata, owner: string): string | null {
    // The row of a revealed NFT has no salt and no signature, unless the row was copied from the NFT.
    const { [PROVENANCE_SALT]: salt, [PROVENANCE_SIGNATURE]: _signature, ...withoutProof } = metadata
    for (const candidate of salt === undefined ? [metadata] : [metadata, withoutProof]) {
      for (const keys of this.#localKeys.values()) {
        const key = metadataHash(withoutValues(candidate as Metadata, new Set(keys))) + owner
        if (this.#contents.has(key)) return key
      }
    }
    return null
  }
}

/**
 * Removes and returns the NFT that matches the row best. The order of preference is: minted to the row's ENS name,
 * owned by an owner of the row, minted to an owner of the row, owner not known yet.
 */
function takeBestMatch(matches: FoundNft[], row: ManifestRow): FoundNft | null {
  const owners = possibleOwners(row)
  const mintedToName = matches.findIndex(({ name }) => name !== null && name === row.receiverName)
  const ownedNow = matches.findIndex(({ holder }) => holder !== null && owners.includes(holder))
  const mintedToOwner = matches.findIndex(({ owner }) => owner !== null && owners.includes(owner))
  const withoutOwner = matches.findIndex(({ owner }) => owner === null)
  const [match] = matches.splice([mintedToName, ownedNow, mintedToOwner, withoutOwner].find((at) => at >= 0) ?? 0, 1)
  return match ?? null
}

function withoutValues(metadata: Metadata, keys: ReadonlySet<string>): unknown {
  if (keys.size === 0 || !Array.isArray(metadata.file_fields)) return metadata
  const file_fields = metadata.file_fields.map((field) => (keys.has(field.key) ? { key: field.key } : field))
  return { ...metadata, file_fields }
}
