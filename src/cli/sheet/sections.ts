/** Cards in a section of a page: full lines of one to six columns. */
export const CARDS_PER_SECTION = 120
