const LONGEST = 5

/** A token symbol for a collection's name: its first letters and digits in capitals; `NFT` where it has none. */
export function symbolOf(name: string): string {
  const letters = name.normalize('NFKD').replace(/[^A-Za-z0-9]/g, '')
  return letters === '' ? 'NFT' : letters.slice(0, LONGEST).toUpperCase()
}
