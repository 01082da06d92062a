/** Minimum number of edited rows that indicates another edition. Fewer rows are edits by hand. */
const MIN_EDITED = 3

/** Returns whether at least half of the sent rows have other content, which happens if an edition is drawn again. */
export const seemsOtherEdition = ({ edited, sent }: { edited: number; sent: number }): boolean =>
  edited >= MIN_EDITED && edited * 2 >= sent
