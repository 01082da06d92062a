/**
 * Number of cards per section. It is divisible by 1 to 6, so that a section fills whole lines in layouts with up to six
 * columns.
 */
export const CARDS_PER_SECTION = 120
