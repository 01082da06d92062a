import { bootClock } from '../core/boot-clock.ts'
import { sleep } from '../core/time.ts'

/** The time functions that waiting depends on; replaced in tests. */
export interface Clock {
  /** Milliseconds on a clock that never steps. */
  now: () => number
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  /** Returns a number from 0 to 1. */
  random: () => number
}

export const SYSTEM_CLOCK: Clock = { now: bootClock, sleep, random: Math.random }
