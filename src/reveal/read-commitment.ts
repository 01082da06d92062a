import { extraKeys, MAX_METADATA_ITEMS, metadataItems } from '../api/metadata.ts'
import { isIpfsUrl } from '../core/ipfs-url.ts'
import { sha256Of } from '../core/sha256-of.ts'
import type { ManifestItem } from '../manifest/read.ts'
import { PROVENANCE, PROVENANCE_ROW, PROVENANCE_SALT } from '../manifest/reveal-keys.ts'
import type { ManifestIssue, ManifestRow } from '../manifest/row.ts'
import { Commitment, rowContentHash } from './leaves.ts'

/** A manifest with the commitment to its rows. */
export interface ReadCommitment {
  commitment: Commitment
  /** The line of each row. */
  lines: number[]
  /** Returns the hash of a row's content. Reads each file once. */
  contentOf(row: ManifestRow): Promise<Buffer>
  /** Returns the SHA-256 in hex of a local file of the manifest, as it was when it was read. */
  hashOf(path: string): Promise<string>
}

/**
 * Reads all rows, hashes their files, and returns the commitment to them. Memory grows by 40 bytes per row.
 *
 * @returns null if the manifest has problems. Read its `committable` items to report them
 */
export async function readCommitment(items: AsyncIterable<ManifestItem>): Promise<ReadCommitment | null> {
  const { contentOf, hashOf } = contentHashes()
  const contents: Buffer[] = []
  const lines: number[] = []
  for await (const item of committable(items)) {
    if ('issue' in item) return null
    contents.push(await contentOf(item.row))
    lines.push(item.row.line)
  }
  return { commitment: new Commitment(Buffer.concat(contents)), lines, contentOf, hashOf }
}

/** Returns functions that hash rows and their files. Each file is read once. */
export function contentHashes(): Pick<ReadCommitment, 'contentOf' | 'hashOf'> {
  const known = new Map<string, Promise<string>>()
  const hashOf = (path: string): Promise<string> => {
    const found = known.get(path) ?? sha256Of(path)
    known.set(path, found)
    return found
  }
  const hash = async (row: ManifestRow): Promise<Buffer> => {
    const hashes = new Map<string, string>()
    for (const { key, path } of row.localFiles) hashes.set(key, await hashOf(path))
    return rowContentHash(row, hashes)
  }
  return { contentOf: hash, hashOf }
}

/** Yields the items of a manifest. Reports rows that can't be committed to or revealed as problems. */
export async function* committable(items: AsyncIterable<ManifestItem>): AsyncGenerator<ManifestItem> {
  for await (const item of items) {
    const issue = 'row' in item ? issueOf(item.row) : null
    yield issue === null ? item : { issue }
  }
}

const OWN_KEYS = [PROVENANCE, PROVENANCE_ROW, PROVENANCE_SALT]

function issueOf({ line, metadata, localFiles }: ManifestRow): ManifestIssue | null {
  const issue = (field: string, message: string, hint: string) => ({ place: { line, field }, message, hint })
  const extras = extraKeys(metadata)
  const local = new Set(localFiles.map(({ key }) => key))
  for (const { key } of metadata.file_fields) {
    if (OWN_KEYS.includes(key)) return issue(key, 'is reserved for the reveal', 'Choose another key.')
    if (!local.has(key)) {
      return issue(key, 'is a URL, whose content can change before the reveal', 'Use a local file.')
    }
  }
  for (const key of extras) {
    if (OWN_KEYS.includes(key)) return issue(key, 'is reserved for the reveal', 'Choose another key.')
  }
  for (const key of ['title', 'description', ...extras]) {
    const value = metadata[key]
    // A metadata file doesn't show which of its values are files, so text must not look like a file.
    if (typeof value === 'string' && isIpfsUrl(value)) {
      return issue(key, 'begins like the URL of a file', 'Use a local file, or another text.')
    }
  }
  const count = metadataItems(metadata)
  if (count < MAX_METADATA_ITEMS) return null
  const message = `has ${count} metadata items, which leaves no room for the salt of the reveal: at most ${MAX_METADATA_ITEMS} are allowed`
  return issue(PROVENANCE_SALT, message, 'Remove an item, or make it an attribute.')
}
