import { hash } from 'node:crypto'
import { canonicalJson } from '../../core/canonical-json.ts'

/** What two NFTs of equal metadata have in common, whatever order a server gives the keys in. */
export const contentOf = (metadata: unknown): string => hash('sha256', canonicalJson(metadata), 'base64url')

const member = (metadata: unknown, key: string): unknown =>
  metadata !== null && typeof metadata === 'object' && Object.hasOwn(metadata, key)
    ? (metadata as Record<string, unknown>)[key]
    : undefined

/** By what an NFT is told from others: the marker of its row where the run has them, else all it says. */
export function identityOf(metadata: unknown, markerKey: string | undefined): string {
  if (markerKey === undefined) return contentOf(metadata)
  const marker = member(metadata, markerKey)
  return typeof marker === 'string' ? `marker ${marker}` : contentOf(metadata)
}

/** The title without what a server may do to it: a row that has a look-alike may have been rewritten. */
export function looseTitle(metadata: unknown): string {
  const title = member(metadata, 'title')
  return typeof title === 'string' ? title.normalize('NFKC').replace(/\s+/gu, ' ').trim().toLowerCase() : ''
}

/** The metadata of a request's rows, from the bytes that it was sent with. */
export const sentMetadata = (body: string): unknown[] => (JSON.parse(body) as { metadata: unknown[] }).metadata
