import { basename } from 'node:path'
import { sha256Hex } from '../../core/sha256-hex.ts'

/** The key of a row: `id:` followed by its ID, or `row:` followed by its content hash and copy number. */
export type RowKey = string

/**
 * Returns the key for an ID or, without an ID, for the nth row with the same content: `row:…`, `row:…#2`, `row:…#3`.
 */
export function rowKey(id: string | null, content: string, copy = 1): RowKey {
  if (id !== null) return `id:${id}`
  return copy === 1 ? `row:${content}` : `row:${content}#${copy}`
}

/** Returns the copy number of a row among equal rows. */
export const parseCopyNumber = (key: RowKey): number => Number(key.split('#')[1] ?? 1)

/** Returns the key of the nth copy of the same content. */
export const withCopyNumber = (key: RowKey, copy: number): RowKey => rowKey(null, parseContentHash(key), copy)

/** Returns the content hash in the key of a row without an ID. */
export const parseContentHash = (key: RowKey): string => key.slice('row:'.length).split('#')[0] ?? ''

/** Returns whether the key contains the content hash, so that editing the row changes its key. */
export function isContentKey(key: RowKey): boolean {
  return key.startsWith('row:')
}

/** Returns the key as shown to users and in results. */
export function formatKey(key: RowKey): string {
  return key.slice(key.indexOf(':') + 1)
}

/**
 * Returns the scope of a run's operations, which distinguishes them from operations of other runs whose rows have the
 * same keys.
 */
export const ownScope = (runId: string): string => `${runId}/`

/**
 * Returns the scope of a drop's reference IDs. The scope is the drop's name, which is the same on every machine, or a
 * random scope for a second drop.
 */
export function referenceScope(run: { runName: string | null; manifest: string | null; order: string | null }): string {
  const { runName, manifest, order } = run
  if (order !== null) return JSON.stringify([ORDER, order])
  // Normalize the name, because macOS may return file names with decomposed characters.
  return JSON.stringify(['name', (runName ?? basename(manifest ?? '')).normalize('NFC')])
}

const ORDER = 'order'

/**
 * Returns whether other machines can find the NFTs of a drop by their reference IDs. Other machines can't find the NFTs
 * of a second drop.
 */
export const isSharedScope = (scope: string): boolean => (JSON.parse(scope) as string[])[0] !== ORDER

/**
 * Returns the reference ID of a row. The server mints at most one NFT for each reference ID, regardless of which
 * machine sends the row, and in which request. The format of the ID never changes. If a later version of gdn reads rows
 * differently, the ID needs a new version.
 *
 * @param key the key of the row, or the key with its portable hash if that differs (see `RowRecord.reference`)
 */
export function rowReferenceId(scope: string, key: RowKey): string {
  return `v1:${sha256Hex(JSON.stringify([scope, key])).slice(0, 40)}`
}

/** Returns the reference ID of a row from its stored key and reference. */
export const toReferenceId = (
  { referenceScope: scope }: { referenceScope: string },
  { key, reference }: { key: RowKey; reference: RowKey | null },
): string => rowReferenceId(scope, reference ?? key)
