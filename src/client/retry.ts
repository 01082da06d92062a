import { HEADERS } from '../api/headers.ts'
import type { Backoff } from '../core/backoff.ts'
import { parseRetryAfter } from '../core/time.ts'

/** Waits between retries of a failed request, in milliseconds. */
export const RETRIES: Backoff = { firstMs: 250, maxMs: 8000 }

/**
 * Returns how long a response requests to wait, in milliseconds. Returns null if it has no Retry-After (seconds or a
 * date).
 */
export function retryAfterMs(headers: Readonly<Record<string, string>>, wallClock: number): number | null {
  return parseRetryAfter(headers[HEADERS.retryAfter], wallClock)
}
