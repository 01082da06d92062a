/** The edited rows from which a manifest can be another edition. Fewer are edits by hand. */
const MIN_EDITED = 3

/** Returns whether at least half of the sent rows have other content, which happens if an edition is drawn again. */
export const seemsOtherEdition = ({ edited, sent }: { edited: number; sent: number }): boolean =>
  edited >= MIN_EDITED && edited * 2 >= sent
