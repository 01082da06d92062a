/** Reasons why a file can't be decoded, which several formats share. */
export const ENDS_EARLY = 'it ends early'
export const NO_SIZE = 'its width or height is 0'
export const TOO_MANY_PARTS = 'it has too many parts'

/**
 * Maximum number of parts in a file. A file with more parts is treated as an attack. The largest image files have about
 * 10,000 parts.
 */
export const MAX_PARTS = 100_000
