/** The exponential backoff between retries of a failing call. */
export interface Backoff {
  /** Milliseconds to wait after the first failure. The wait doubles after each further failure. */
  firstMs: number
  maxMs: number
  /**
   * The fraction by which a wait varies randomly, so that callers don't all retry at the same time. Default: a quarter.
   */
  jitter?: number
}

/**
 * Returns the time to wait after a number of consecutive failures, in milliseconds. By default, waits are from 1 s to
 * 60 s.
 */
export function backoffMs(
  failures: number,
  { firstMs, maxMs, jitter = 0.25 }: Backoff = { firstMs: 1000, maxMs: 60_000 },
  random: () => number = Math.random,
): number {
  return addJitter(Math.min(firstMs * 2 ** Math.max(0, failures - 1), maxMs), random, jitter)
}

/** Varies a wait randomly by up to the fraction `jitter`. Default: a quarter. */
export const addJitter = (ms: number, random: () => number = Math.random, jitter = 0.25): number =>
  Math.round(ms * (1 - jitter + 2 * jitter * random()))
