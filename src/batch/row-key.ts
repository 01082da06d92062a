import { createHash } from 'node:crypto'
import { basename } from 'node:path'

/** What a row is known by: `id:` and its id, or `row:` and its content with the number of the copy. */
export type RowKey = string

/** The key of a row with this id, or, without one, of the so-manieth of this content: `…`, `…#2`, `…#3`. */
export function rowKey(id: string | null, content: string, copy = 1): RowKey {
  if (id !== null) return `id:${id}`
  return copy === 1 ? `row:${content}` : `row:${content}#${copy}`
}

/** Whether the key says the content: a row of another content has another one. */
export function isContentKey(key: RowKey): boolean {
  return key.startsWith('row:')
}

/** The key as people and results see it. */
export function shownKey(key: RowKey): string {
  return key.slice(key.indexOf(':') + 1)
}

/** What the reference IDs of a drop are made of: its name, which is the same on every machine, or what `--again` made up. */
export function referenceScope(run: { runName: string | null; manifest: string | null; order: string | null }): string {
  const { runName, manifest, order } = run
  if (order !== null) return JSON.stringify(['order', order])
  return JSON.stringify(['name', runName ?? basename(manifest ?? '')])
}

/**
 * The reference ID of a row. The server creates it once, however rows are grouped into requests and on any machine. Its
 * form never changes: a change in how rows are read gets a new version.
 *
 * @param key of the row, or the hash that replaces it where the row has local files
 */
export function referenceId(scope: string, key: RowKey): string {
  return `v1:${createHash('sha256')
    .update(JSON.stringify([scope, key]))
    .digest('hex')
    .slice(0, 40)}`
}
