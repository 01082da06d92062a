const STATES = ['deployed', 'accepted', 'pending', 'failed', 'unknown'] as const

/** `1 NFT`, `24 NFTs`. */
export function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`
}

/** `24 rows: 22 deployed, 2 failed`. States without rows are left out. */
export function rowsByState(counts: Readonly<Record<string, unknown>>): string {
  const states = STATES.filter((state) => Number(counts[state]) > 0).map((state) => `${counts[state]} ${state}`)
  const total = count(Number(counts.total), 'row')
  return states.length === 0 ? total : `${total}: ${states.join(', ')}`
}
