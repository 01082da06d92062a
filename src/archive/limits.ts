/** What an archive accepts from a contract and from servers, which nobody vouches for. */
export interface ArchiveLimits {
  /** Maximum size of one file in bytes, and of all blocks together. */
  fileBytes: number
  totalBytes: number
  /** Time in milliseconds for a request, including its redirects. */
  timeoutMs: number
}

export const DEFAULT_LIMITS: ArchiveLimits = { fileBytes: 100 * 2 ** 20, totalBytes: 20 * 2 ** 30, timeoutMs: 60_000 }

/** A collection with more tokens is refused: an ERC-2309 event can name 2⁹⁶. */
export const MAX_TOKENS = 1_000_000
/** Maximum size of what a contract returns as a token URI. On-chain images have up to a few 100 KB. */
export const MAX_URI_BYTES = 2 * 2 ** 20
export const MAX_METADATA_BYTES = 8 * 2 ** 20
/** Maximum number of files that the metadata of one token may name. */
export const MAX_FILES = 100
export const MAX_REDIRECTS = 5
/** Maximum number of different blocks of a file, and of a whole directory. */
export const MAX_BLOCKS = 100_000
export const MAX_DIRECTORY_BLOCKS = 1_000_000
