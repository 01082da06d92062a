import { bootClock, sleep } from '../core/time.ts'

/** The clock and the randomness of retries, which tests replace. */
export interface RetryClock {
  /** Returns the monotonic time in milliseconds. */
  now: () => number
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  /** Returns a random number from 0 to 1. */
  random: () => number
}

export const SYSTEM_RETRY_CLOCK: RetryClock = { now: bootClock, sleep, random: Math.random }
