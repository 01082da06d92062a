const FIRST_MS = 1000
const LONGEST_MS = 60_000

/** Milliseconds until attempt number `attempts` + 1: doubling from a second, up to a minute, with jitter. */
export function backoffMs(attempts: number, random: () => number = Math.random): number {
  const full = Math.min(FIRST_MS * 2 ** Math.max(0, attempts - 1), LONGEST_MS)
  return Math.round(full * (0.75 + random() / 2))
}
