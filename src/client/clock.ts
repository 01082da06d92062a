import { bootClock } from '../core/boot-clock.ts'
import { sleep } from '../core/time.ts'

/** The clock, which tests replace. */
export interface Clock {
  /** Returns monotonic milliseconds. */
  now: () => number
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  /** Returns a random number from 0 to 1. */
  random: () => number
}

export const SYSTEM_CLOCK: Clock = { now: bootClock, sleep, random: Math.random }
