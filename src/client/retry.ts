import { HEADERS } from '../api/headers.ts'
import type { Backoff } from '../core/backoff.ts'
import { bootClock } from '../core/boot-clock.ts'
import { parseRetryAfter, sleep } from '../core/time.ts'

/** The time functions that waiting depends on; replaced in tests. */
export interface Clock {
  /** Milliseconds on a clock that never steps. */
  now: () => number
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  /** From 0 to 1. */
  random: () => number
}

export const SYSTEM_CLOCK: Clock = { now: bootClock, sleep, random: Math.random }

/** How long a failed request waits before a retry. */
export const RETRIES: Backoff = { firstMs: 250, maxMs: 8000 }

/** The wait that a response asks for (Retry-After in seconds or as a date), or null if there is none. */
export function retryAfterMs(headers: Readonly<Record<string, string>>, wallClock: number): number | null {
  return parseRetryAfter(headers[HEADERS.retryAfter], wallClock)
}
