/** Prints a line of figures: measurements of a test, or the data to replay it. */
export function report(line: string | object): void {
  process.stdout.write(`${typeof line === 'string' ? line : JSON.stringify(line)}\n`)
}

/** A seeded random generator. The seed is printed, and GDN_SEED replays a run. */
export function seededRandom(label: string): { random: () => number; seed: number } {
  const seed = Number(process.env.GDN_SEED ?? Math.floor(Math.random() * 2 ** 31))
  report(`${label}: GDN_SEED=${seed}`)
  return { random: seededFrom(seed), seed }
}

/** Returns numbers from 0 to 1 determined by a seed (mulberry32). */
export function seededFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
