import { createHash } from 'node:crypto'
import { canonicalJson } from '../core/canonical-json.ts'
import type { ManifestRow } from './row.ts'

/**
 * What names a row from one reading of a manifest to the next: its `id`, else a hash of its content. Rows of equal
 * content have equal keys; which copy it is, the planner counts. A local file counts by its path.
 */
export function rowKey({ id, receiver, sender, metadata, localFiles }: ManifestRow): string {
  if (id !== null) return id
  const files = localFiles.map(({ key, path }) => [key, path])
  const content = canonicalJson([sameCase(receiver), sender === null ? null : sameCase(sender), metadata, files])
  return `sha256:${createHash('sha256').update(content).digest('hex').slice(0, 40)}`
}

/** An EVM address names the same wallet in any case. */
function sameCase(address: string): string {
  return address.startsWith('0x') ? address.toLowerCase() : address
}
