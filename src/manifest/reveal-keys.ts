import { isObject } from '../core/json.ts'

/** The metadata key of the leaves file in unrevealed metadata. */
export const PROVENANCE = 'provenance'
/** The metadata key of the row number in unrevealed metadata. */
export const PROVENANCE_ROW = 'provenance_row'
/** The metadata key of the salt in revealed metadata. */
export const PROVENANCE_SALT = 'provenance_salt'
/** The metadata key of the signature of the round that drew the row, in revealed metadata of a shuffled drop. */
export const PROVENANCE_SIGNATURE = 'provenance_signature'

/** Returns the salt of revealed metadata, or undefined. */
export const saltIn = (metadata: unknown): unknown => (isObject(metadata) ? metadata[PROVENANCE_SALT] : undefined)
