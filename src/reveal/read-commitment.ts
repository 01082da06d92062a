import type { ProvenanceRecord } from '../api/endpoints/getprovenances.ts'
import { countMetadataItems, extraKeys, MAX_METADATA_ITEMS } from '../api/metadata.ts'
import { isValidMargin, type ShuffleRule } from '../api/shuffle-rule.ts'
import { isIpfsUrl } from '../core/ipfs-url.ts'
import { sha256OfFile } from '../core/sha256-of-file.ts'
import type { ManifestItem } from '../manifest/read.ts'
import { PROVENANCE, PROVENANCE_ROW, PROVENANCE_SALT, PROVENANCE_SIGNATURE } from '../manifest/reveal-keys.ts'
import type { ManifestRow, RowProblem } from '../manifest/row.ts'
import { Commitment, comparableMetadata, rowContentHash } from './leaves.ts'

/** The part of a row that its NFT displays. */
export type Content = Pick<ManifestRow, 'metadata' | 'localFiles'>

/** A manifest with the commitment to its rows. */
export interface ReadCommitment {
  commitment: Commitment
  /** The concatenated hashes of all rows, which are used to recognize hidden rows. */
  rowContentHashes: Buffer
  /** The line of each row. */
  lines: number[]
  /** Returns the hash of a row's content. Reads each file once. */
  rowHash(row: Content): Promise<Buffer>
  /** Returns the SHA-256, in hex, that a local file of the manifest had when it was read. */
  hashOf(path: string): Promise<string>
}

/**
 * Reads all rows, hashes their files, and returns the commitment to them. Memory use grows by 72 bytes per row.
 *
 * @param rule null if the rows aren't shuffled
 * @returns null if the manifest has problems, or if `uncommittableProblem` returns a reason for one of its rows
 */
export async function readCommitment(
  items: AsyncIterable<ManifestItem>,
  rule: ShuffleRule | null = null,
): Promise<ReadCommitment | null> {
  const { rowHash, unorderedOf, hashOf } = contentHashes()
  const contents: Buffer[] = []
  const unordered: Buffer[] = []
  const lines: number[] = []
  for await (const item of items) {
    if ('issue' in item || uncommittableProblem(item.row, rule !== null) !== null) return null
    contents.push(await rowHash(item.row))
    unordered.push(await unorderedOf(item.row))
    lines.push(item.row.line)
  }
  const commitment = new Commitment(Buffer.concat(contents), rule)
  return { commitment, rowContentHashes: Buffer.concat(unordered), lines, rowHash, hashOf }
}

/** Commitments of a collection, oldest first. */
type Commitments = readonly Pick<ProvenanceRecord, 'provenance' | 'shuffle_margin'>[]

/**
 * Returns the rows of a manifest with the collection's first commitment to them, which may have a shuffle rule. Returns
 * null if the collection has no commitment to the rows.
 */
export function withFirstCommitment(rows: ReadCommitment, commitments: Commitments): ReadCommitment | null {
  const commitment = findCommitment(rows.commitment, commitments)
  return commitment === null ? null : { ...rows, commitment }
}

/**
 * Returns a collection's first commitment to rows; null if there is none. Its shuffle rule may differ from that of
 * `rows`.
 */
export function findCommitment(rows: Commitment, commitments: Commitments): Commitment | null {
  const byMargin = new Map<number | null, Commitment>()
  for (const { provenance, shuffle_margin: marginSeconds = null } of commitments) {
    if (marginSeconds !== null && !isValidMargin(marginSeconds)) continue
    const rule = marginSeconds === null ? null : { marginSeconds }
    const commitment = byMargin.get(marginSeconds) ?? rows.withRule(rule)
    byMargin.set(marginSeconds, commitment)
    if (commitment.provenance === provenance) return commitment
  }
  return null
}

interface ContentHashes extends Pick<ReadCommitment, 'rowHash' | 'hashOf'> {
  /** Returns a hash of a row's content that is equal for rows that look alike. */
  unorderedOf(row: Content): Promise<Buffer>
}

/** Returns functions that hash rows and their files. Each file is read once. */
export function contentHashes(): ContentHashes {
  const hashOfPath = new Map<string, Promise<string>>()
  const hashOf = (path: string): Promise<string> => {
    const hash = hashOfPath.get(path) ?? sha256OfFile(path)
    hashOfPath.set(path, hash)
    return hash
  }
  const rowHash = async (row: Content): Promise<Buffer> => {
    const hashes = new Map<string, string>()
    for (const { key, path, sha256 } of row.localFiles) hashes.set(key, sha256 ?? (await hashOf(path)))
    return rowContentHash(row, hashes)
  }
  const unorderedOf = async ({ metadata, localFiles }: Content): Promise<Buffer> =>
    await rowHash({ metadata: comparableMetadata(metadata), localFiles })
  return { rowHash, unorderedOf, hashOf }
}

const OWN_KEYS = [PROVENANCE, PROVENANCE_ROW, PROVENANCE_SALT, PROVENANCE_SIGNATURE]

/** Returns why a row can't be part of a commitment or be revealed; null if it can. */
export function uncommittableProblem({ metadata, localFiles }: ManifestRow, isShuffled = false): RowProblem | null {
  const extras = extraKeys(metadata)
  const files = metadata.file_fields.map(({ key }) => key)
  const reservedKey = [...files, ...extras].find((key) => OWN_KEYS.includes(key))
  if (reservedKey !== undefined)
    return { key: reservedKey, message: 'is reserved for the reveal', hint: 'Choose another key.' }
  const local = new Set(localFiles.map(({ key }) => key))
  const remote = files.find((key) => !local.has(key))
  if (remote !== undefined) {
    const message = 'is a URL, whose content can change before the reveal'
    return { key: remote, message, hint: 'Use a local file.' }
  }
  for (const key of ['title', 'description', ...extras]) {
    const value = metadata[key]
    // A metadata file doesn't show which of its values are files, so text must not look like the URL of a file.
    if (typeof value === 'string' && isIpfsUrl(value)) {
      return { key, message: 'begins like the URL of a file', hint: 'Use a local file, or another text.' }
    }
  }
  const count = countMetadataItems(metadata)
  const [most, added] = isShuffled
    ? [MAX_METADATA_ITEMS - 2, 'the salt and the signature']
    : [MAX_METADATA_ITEMS - 1, 'the salt']
  if (count <= most) return null
  const message = `has ${count} metadata items, but the reveal adds ${added}, so at most ${most} are allowed`
  return { key: null, message, hint: 'Remove an item, or convert an item to an attribute.' }
}
