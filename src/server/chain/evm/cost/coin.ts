/** Returns the symbol of a network's coin; null if it isn't known. */
export const coinOf = (_chainId: number): string | null => null
