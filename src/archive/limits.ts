/** The limits for contracts and servers of other people, which aren't trusted. */
export interface ArchiveLimits {
  /** Maximum size of one file in bytes, and of all blocks together. */
  fileBytes: number
  totalBytes: number
  /** Time in milliseconds for a request, including its redirects. */
  timeoutMs: number
}

const FILE_BYTES = 100 * 1024 * 1024
const TOTAL_BYTES = 20 * 1024 * 1024 * 1024
const TIMEOUT_MS = 60_000

export const DEFAULT_LIMITS: ArchiveLimits = {
  fileBytes: FILE_BYTES,
  totalBytes: TOTAL_BYTES,
  timeoutMs: TIMEOUT_MS,
}

/** A collection with more tokens is refused: an ERC-2309 event can name 2⁹⁶. */
export const MAX_TOKENS = 1_000_000
/** Maximum size of what a contract returns as a token URI. On-chain images have up to a few 100 KB. */
export const MAX_URI_BYTES = 2 * 1024 * 1024
export const MAX_METADATA_BYTES = 8 * 1024 * 1024
/** Maximum number of files that the metadata of one token may name. */
export const MAX_FILES = 100
export const MAX_REDIRECTS = 5
/** Maximum number of different blocks of a file, and of a whole directory. */
export const MAX_BLOCKS = 100_000
export const MAX_DIRECTORY_BLOCKS = 1_000_000
