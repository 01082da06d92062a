/** How the waits between the attempts of a failing call grow. */
export interface Backoff {
  /** Milliseconds after the first failure; doubled with each further one. */
  firstMs: number
  maxMs: number
  /** By which share a wait may be shorter or longer, so that callers spread; a quarter by default. */
  jitter?: number
}

/** Milliseconds until the next attempt, after so many failures in a row; by default from a second up to a minute. */
export function backoffMs(
  failures: number,
  { firstMs, maxMs, jitter = 0.25 }: Backoff = { firstMs: 1000, maxMs: 60_000 },
  random: () => number = Math.random,
): number {
  return jittered(Math.min(firstMs * 2 ** Math.max(0, failures - 1), maxMs), random, jitter)
}

/** A wait that is shorter or longer by up to a share, a quarter by default. */
export const jittered = (ms: number, random: () => number = Math.random, jitter = 0.25): number =>
  Math.round(ms * (1 - jitter + 2 * jitter * random()))
