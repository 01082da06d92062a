import { hash } from 'node:crypto'
import type { NftRecord } from '../../api/nft-record.ts'
import { addressKey } from '../../api/same-address.ts'
import { canonicalJson } from '../../core/canonical-json.ts'

/** Returns a hash of metadata that doesn't depend on the order of keys. */
export const metadataHash = (metadata: unknown): string => hash('sha256', canonicalJson(metadata), 'base64url')

const member = (metadata: unknown, key: string): unknown =>
  metadata !== null && typeof metadata === 'object' && Object.hasOwn(metadata, key)
    ? (metadata as Record<string, unknown>)[key]
    : undefined

/** Returns the identity of an NFT: the marker of its row if the run has markers, or else its content. */
export function toIdentity(metadata: unknown, markerKey: string | undefined): string {
  if (markerKey === undefined) return metadataHash(metadata)
  const marker = member(metadata, markerKey)
  return typeof marker === 'string' ? `marker ${marker}` : metadataHash(metadata)
}

/**
 * Returns the title in a form that ignores small changes. An NFT with a similar title may belong to a row whose
 * metadata the server rewrote.
 */
export function looseTitle(metadata: unknown): string {
  const title = member(metadata, 'title')
  return typeof title === 'string' ? title.normalize('NFKC').replace(/\s+/gu, ' ').trim().toLowerCase() : ''
}

/** Returns the metadata of the rows in the bytes of a request. */
export const sentMetadata = (body: string): unknown[] => (JSON.parse(body) as { metadata: unknown[] }).metadata

/** Returns the current owner of an NFT; null if the record has none yet. */
export const findCurrentOwner = ({
  receiver_wallet_address: owner,
}: Pick<NftRecord, 'receiver_wallet_address'>): string | null => (owner ? addressKey(owner) : null)

/**
 * Returns the possible owners of an NFT that was never transferred by a user: its receiver, and its sender if there is
 * one.
 */
export function possibleOwners({ receiver, sender }: { receiver: string; sender: string | null }): string[] {
  return [...new Set([receiver, sender ?? receiver].map(addressKey))]
}
