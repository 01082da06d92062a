/** The metadata key of the leaves file, in what is minted before a reveal. */
export const PROVENANCE = 'provenance'
/** The metadata key of the number of the row, in what is minted before a reveal. */
export const PROVENANCE_ROW = 'provenance_row'
/** The metadata key of the salt, in what is revealed. */
export const PROVENANCE_SALT = 'provenance_salt'
