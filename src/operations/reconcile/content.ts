import { hash } from 'node:crypto'
import { canonicalJson } from '../../core/canonical-json.ts'

/** Returns a hash that is equal for NFTs with equal metadata, in any order of keys. */
export const contentOf = (metadata: unknown): string => hash('sha256', canonicalJson(metadata), 'base64url')

const member = (metadata: unknown, key: string): unknown =>
  metadata !== null && typeof metadata === 'object' && Object.hasOwn(metadata, key)
    ? (metadata as Record<string, unknown>)[key]
    : undefined

/** Returns the identity of an NFT: the marker of its row if the run has markers, else its content. */
export function identityOf(metadata: unknown, markerKey: string | undefined): string {
  if (markerKey === undefined) return contentOf(metadata)
  const marker = member(metadata, markerKey)
  return typeof marker === 'string' ? `marker ${marker}` : contentOf(metadata)
}

/** Returns the title without changes that a server may make. A row with a similar title may have been rewritten. */
export function looseTitle(metadata: unknown): string {
  const title = member(metadata, 'title')
  return typeof title === 'string' ? title.normalize('NFKC').replace(/\s+/gu, ' ').trim().toLowerCase() : ''
}

/** Returns the metadata of a request's rows, from its bytes. */
export const sentMetadata = (body: string): unknown[] => (JSON.parse(body) as { metadata: unknown[] }).metadata
