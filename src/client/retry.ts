import { HEADERS } from '../api/headers.ts'
import type { Backoff } from '../core/backoff.ts'
import { parseRetryAfter } from '../core/time.ts'

/** How long a failed request waits before a retry. */
export const RETRIES: Backoff = { firstMs: 250, maxMs: 8000 }

/** The wait that a response asks for (Retry-After in seconds or as a date), or null if there is none. */
export function retryAfterMs(headers: Readonly<Record<string, string>>, wallClock: number): number | null {
  return parseRetryAfter(headers[HEADERS.retryAfter], wallClock)
}
