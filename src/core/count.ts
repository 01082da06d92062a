/** Formats a number with a noun, such as `1 NFT` or `24 NFTs`. */
export const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`
