import { createHash, createHmac } from 'node:crypto'
import { extraKeys } from '../api/metadata.ts'
import { formatRuleLine, parseRule, type ShuffleRule } from '../api/shuffle-rule.ts'
import { toFileAttribute } from '../api/traits.ts'
import { canonicalJson } from '../core/canonical-json.ts'
import { isIpfsUrl } from '../core/ipfs-url.ts'
import { PROVENANCE_SALT, PROVENANCE_SIGNATURE } from '../manifest/reveal-keys.ts'
import type { ManifestRow } from '../manifest/row.ts'

// A commitment to the rows of a manifest. Row 1 is the first row. Its leaf is the first line of the leaves file, or the
// second line if the first line is a shuffle rule.
//
//   content_i  = SHA-256(canonical JSON (RFC 8785) of the metadata file of row i, each file as sha256:<hex>)
//   seed       = SHA-256(content_1 ‖ content_2 ‖ …)
//   salt_i     = HMAC-SHA-256(key: seed, message: i in decimal)
//   leaf_i     = SHA-256(salt_i ‖ content_i)
//   leaves     = the shuffle rule, if any, and all leaves in lower-case hex, each followed by a line feed
//   provenance = SHA-256(leaves)
//
// The seed is derived from the manifest, so a reveal needs nothing else. However, a leaf hides its row only if nobody
// can guess the whole manifest. All parts have fixed lengths, so different inputs never result in the same bytes.

const HASH_BYTES = 32

const sha256 = (...parts: (Uint8Array | string)[]): Buffer => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

/**
 * Returns the hash of a row's content, which is its metadata file with each file's content hash in place of the URL.
 *
 * @param hashes SHA-256 in hex of each local file, by file field key. All files must be local
 */
export function rowContentHash(
  { metadata }: Pick<ManifestRow, 'metadata'>,
  hashes: ReadonlyMap<string, string>,
): Buffer {
  const { title: name, description, attribute } = metadata
  const file: Record<string, unknown> = { name, description }
  for (const { key } of metadata.file_fields) file[key] = `sha256:${hashes.get(key) ?? ''}`
  for (const key of extraKeys(metadata)) file[key] = metadata[key]
  if (attribute !== undefined) file.attributes = attribute.map(toFileAttribute)
  return sha256(canonicalJson(file))
}

/**
 * Returns the metadata in a form that is equal for rows that look alike. Attributes are text in a fixed order, and all
 * text is in Unicode normalization form C.
 */
export function comparableMetadata(metadata: ManifestRow['metadata']): ManifestRow['metadata'] {
  const normal = Object.entries(metadata).map(([key, value]) => [key, normalizeText(value)])
  const attribute = metadata.attribute
    ?.map(({ tag, value }) => ({ tag: normalizeText(tag), value: normalizeText(value) }))
    .sort((a, b) => compareText(canonicalJson(a), canonicalJson(b)))
  return { ...Object.fromEntries(normal), attribute }
}

const normalizeText = <Value>(value: Value): Value | string => (typeof value === 'string' ? value.normalize() : value)

const compareText = (a: string, b: string): number => (a < b ? -1 : Number(a > b))

/**
 * Returns the hash of a revealed metadata file.
 *
 * @param hashOf returns the SHA-256 in hex of the file at an ipfs URL
 * @param isShuffled whether the reveal also added the signature of a round
 */
export async function hashFileContent(
  { [PROVENANCE_SALT]: _salt, ...file }: Readonly<Record<string, unknown>>,
  hashOf: (url: string) => Promise<string>,
  isShuffled = false,
): Promise<Buffer> {
  const hashed: Record<string, unknown> = { ...file }
  if (isShuffled) delete hashed[PROVENANCE_SIGNATURE]
  for (const [key, value] of Object.entries(hashed)) {
    if (typeof value === 'string' && isIpfsUrl(value)) hashed[key] = `sha256:${await hashOf(value)}`
  }
  return sha256(canonicalJson(hashed))
}

/** Returns the leaf of a row, in hex. */
export const computeLeaf = (salt: Uint8Array, content: Uint8Array): string => sha256(salt, content).toString('hex')

/** Returns the salt of a row. Rows are numbered from 1. */
export const deriveSalt = (seed: Uint8Array, row: number): Buffer =>
  createHmac('sha256', seed).update(String(row)).digest()

/** Returns the hash `0x…` that commits to the rows of a leaves file. */
export const computeProvenance = (leaves: Uint8Array): `0x${string}` => `0x${sha256(leaves).toString('hex')}`

/** The commitment to the rows of a manifest. */
export class Commitment {
  readonly seed: Buffer
  /** The content of the leaves file. */
  readonly leaves: Buffer
  readonly provenance: `0x${string}`
  /** Null if the rows aren't shuffled. */
  readonly rule: ShuffleRule | null
  /** The content hashes of all rows, concatenated. */
  readonly contents: Buffer

  constructor(contents: Buffer, rule: ShuffleRule | null = null) {
    this.contents = contents
    this.rule = rule
    this.seed = sha256(contents)
    const lines = Array.from(
      { length: this.rowCount },
      (_, at) => `${computeLeaf(this.saltOf(at + 1), this.contentOf(at + 1))}\n`,
    )
    this.leaves = Buffer.from((rule === null ? '' : formatRuleLine(rule)) + lines.join(''))
    this.provenance = computeProvenance(this.leaves)
  }

  /** Returns the commitment to the same rows with another shuffle rule. */
  withRule(rule: ShuffleRule | null): Commitment {
    return new Commitment(this.contents, rule)
  }

  get rowCount(): number {
    return this.contents.length / HASH_BYTES
  }

  contentOf(row: number): Buffer {
    return this.contents.subarray((row - 1) * HASH_BYTES, row * HASH_BYTES)
  }

  saltOf(row: number): Buffer {
    return deriveSalt(this.seed, row)
  }

  /**
   * Compares the rows with a leaves file. A changed row changes the seed and therefore every leaf, so the comparison
   * needs the original seed. If the number of rows is the same, rows are compared by position.
   */
  compareWithLeaves(leaves: Uint8Array, seed: Uint8Array): RowDifferences {
    const lines = parseLeaves(leaves)
    const salts = lines.map((_, at) => deriveSalt(seed, at + 1))
    const isSame = (row: number, leaf: number): boolean => {
      const salt = salts[leaf - 1]
      return row <= this.rowCount && salt !== undefined && computeLeaf(salt, this.contentOf(row)) === lines[leaf - 1]
    }
    const differences: RowDifferences = { changed: [], added: [], removed: [] }
    const maxShift = this.rowCount === lines.length ? 0 : MAX_SHIFT
    let [row, leaf] = [1, 1]
    while (row <= this.rowCount && leaf <= lines.length) {
      const shift = isSame(row, leaf) || isSame(row + 1, leaf + 1) ? 0 : findShift(row, leaf, maxShift, isSame)
      for (let n = 0; n < shift; n++) differences.added.push(row++)
      for (let n = 0; n > shift; n--) differences.removed.push(leaf++)
      if (!isSame(row, leaf)) differences.changed.push(row)
      row++
      leaf++
    }
    while (row <= this.rowCount) differences.added.push(row++)
    while (leaf <= lines.length) differences.removed.push(leaf++)
    return differences
  }
}

/** The differences between rows and a leaves file, as row numbers from 1. */
export interface RowDifferences {
  changed: number[]
  added: number[]
  /** The numbers of removed rows, as numbered in the leaves file. */
  removed: number[]
}

/** Maximum number of adjacent rows that are recognized as added or removed. */
const MAX_SHIFT = 100

/**
 * Returns the number of rows that were added before a row, or a negative number if rows were removed. Returns 0 if no
 * shift matches.
 */
function findShift(
  row: number,
  leaf: number,
  maxShift: number,
  isSame: (row: number, leaf: number) => boolean,
): number {
  for (let n = 1; n <= maxShift; n++) {
    if (isSame(row, leaf + n)) return -n
    if (isSame(row + n, leaf)) return n
  }
  return 0
}

/** Returns the leaf of a row from a leaves file; null if the file doesn't contain the row. */
export const readLeaf = (leaves: Uint8Array, row: number): string | null => parseLeaves(leaves)[row - 1] ?? null

/**
 * Returns the leaves of a leaves file, in the order of the rows.
 *
 * @throws GdnError `verify_failed` if the file begins with an unknown shuffle rule
 */
export function parseLeaves(leaves: Uint8Array): string[] {
  const lines = Buffer.from(leaves).toString('latin1').trimEnd().split('\n')
  return parseRule(leaves) === null ? lines : lines.slice(1)
}
