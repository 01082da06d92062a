import { isObject } from '../core/json.ts'

/** The metadata key of the leaves file in unrevealed metadata. */
export const PROVENANCE = 'provenance'
/** The metadata key of the row number in unrevealed metadata. */
export const PROVENANCE_ROW = 'provenance_row'
/** The metadata key of the salt in revealed metadata. */
export const PROVENANCE_SALT = 'provenance_salt'
/** The metadata key of the signature of a drop's round, in the revealed metadata of shuffled drops. */
export const PROVENANCE_SIGNATURE = 'provenance_signature'

/** Returns the proof in revealed metadata: the salt, and, for a shuffled drop, the signature. */
export function readProof(metadata: unknown): Record<string, unknown> | undefined {
  if (!isObject(metadata) || metadata[PROVENANCE_SALT] === undefined) return undefined
  const proof: Record<string, unknown> = { [PROVENANCE_SALT]: metadata[PROVENANCE_SALT] }
  if (metadata[PROVENANCE_SIGNATURE] !== undefined) proof[PROVENANCE_SIGNATURE] = metadata[PROVENANCE_SIGNATURE]
  return proof
}

/** Returns the salt of revealed metadata, or undefined. */
export const readSalt = (metadata: unknown): unknown => (isObject(metadata) ? metadata[PROVENANCE_SALT] : undefined)

/** Returns whether the metadata of an NFT is the placeholder of a drop that isn't revealed yet. */
export const isPlaceholder = (metadata: unknown): boolean => Object.hasOwn(Object(metadata), PROVENANCE_ROW)
