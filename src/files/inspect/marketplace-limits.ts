import type { FormatName } from './formats.ts'

/** The maximum file size of a marketplace, according to its documentation. */
interface Limit {
  marketplace: string
  bytes: number
  /** Formats to which the limit applies. */
  formats: readonly FormatName[]
  source: string
}

/**
 * docs/drops.md has the same table. It doesn't include limits above the size that gdn uploads, such as OpenSea's 300 MB
 * (https://docs.opensea.io/docs/media-and-traits).
 */
export const MARKETPLACE_LIMITS: readonly Limit[] = [
  {
    marketplace: 'Crypto.com NFT',
    bytes: 30_000_000,
    formats: ['png', 'jpeg', 'webp', 'gif'],
    source: 'https://help.crypto.com/en/articles/5588880-nft-creation',
  },
]

/** Returns a warning that names the marketplaces with a lower limit, or null. */
export function marketplaceWarning(format: FormatName, size: number): string | null {
  const over = MARKETPLACE_LIMITS.filter(({ bytes, formats }) => size > bytes && formats.includes(format))
  if (over.length === 0) return null
  const limits = over.map(({ marketplace, bytes }) => `${marketplace} (${bytes / 1_000_000} MB)`)
  return `is ${(size / 1_000_000).toFixed(1)} MB, more than the limit of ${limits.join(' and ')}`
}
