/** Reasons why a file can't be decoded, for several formats. */
export const ENDS_EARLY = 'it ends early'
export const NO_SIZE = 'its width or height is 0'
export const TOO_MANY_PARTS = 'it has too many parts'

/** A file with more parts counts as an attack. The largest image files have some 10,000. */
export const MAX_PARTS = 100_000
