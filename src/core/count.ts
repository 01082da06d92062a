/** Formats a number with a noun: `1 NFT`, `24 NFTs`. */
export const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`
