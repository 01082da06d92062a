/** Number of cards in a section of a page. It fills whole lines of one to six columns. */
export const CARDS_PER_SECTION = 120
