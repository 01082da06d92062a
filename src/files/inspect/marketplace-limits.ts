import type { FormatName } from './formats.ts'

/** The largest file that a marketplace takes, as its documentation says. */
interface Limit {
  marketplace: string
  bytes: number
  /** Formats that the limit is for. */
  formats: readonly FormatName[] | 'all'
  source: string
}

/** docs/drops.md has the same table. */
export const MARKETPLACE_LIMITS: readonly Limit[] = [
  {
    marketplace: 'Crypto.com NFT',
    bytes: 30_000_000,
    formats: ['png', 'jpeg', 'webp', 'gif'],
    source: 'https://help.crypto.com/en/articles/5588880-nft-creation',
  },
  {
    marketplace: 'OpenSea',
    bytes: 300_000_000,
    formats: 'all',
    source: 'https://docs.opensea.io/docs/media-and-traits',
  },
]

/** Returns which marketplaces take no files of this size, or null. */
export function marketplaceWarning(format: FormatName, size: number): string | null {
  const over = MARKETPLACE_LIMITS.filter(
    ({ bytes, formats }) => size > bytes && (formats === 'all' || formats.includes(format)),
  )
  if (over.length === 0) return null
  const limits = over.map(({ marketplace, bytes }) => `${marketplace} (${bytes / 1_000_000} MB)`)
  return `has ${(size / 1_000_000).toFixed(1)} MB, more than the limit of ${limits.join(' and ')}`
}
