/** Limits for third-party contracts and servers, which aren't trusted. */
export interface ArchiveLimits {
  /** Maximum size of one file in bytes. `maxTotalBytes` is the maximum size of all blocks together. */
  maxFileBytes: number
  maxTotalBytes: number
  /** Timeout of a request in milliseconds, including its redirects. */
  timeoutMs: number
}

const DEFAULT_MAX_FILE_BYTES = 100 * 1024 * 1024
const DEFAULT_MAX_TOTAL_BYTES = 20 * 1024 * 1024 * 1024
const DEFAULT_TIMEOUT_MS = 60_000

export const DEFAULT_LIMITS: ArchiveLimits = {
  maxFileBytes: DEFAULT_MAX_FILE_BYTES,
  maxTotalBytes: DEFAULT_MAX_TOTAL_BYTES,
  timeoutMs: DEFAULT_TIMEOUT_MS,
}

/**
 * Maximum number of tokens in a collection. A larger collection is refused, because a single ERC-2309 event can claim
 * 2⁹⁶ tokens.
 */
export const MAX_TOKENS = 1_000_000
/** Maximum size of a token URI that a contract returns. On-chain images take up to a few hundred KB. */
export const MAX_URI_BYTES = 2 * 1024 * 1024
export const MAX_METADATA_BYTES = 8 * 1024 * 1024
/** Maximum number of files to which the metadata of one token may refer. */
export const MAX_FILES_PER_TOKEN = 100
export const MAX_REDIRECTS = 5
/** Maximum number of different blocks in a file. `MAX_DIRECTORY_BLOCKS` is the maximum for a whole directory. */
export const MAX_FILE_BLOCKS = 100_000
export const MAX_DIRECTORY_BLOCKS = 1_000_000
