import { GdnError } from '../../core/errors.ts'
import type { ObservedRateLimit } from '../announcements.ts'

/** A number of requests per time window. */
export interface Limit {
  slots: number
  /** Time in milliseconds for which a slot stays in use after the response to its request. */
  windowMs: number
}

/**
 * Requests per second if neither the user nor the server sets a limit. The value is from the section "Limits" of the
 * API reference, version 1.1.
 */
const DEFAULT_REQUESTS_PER_SECOND = 2

// Timers fire up to 1 ms early, and the server's clock is rounded. Without the margin, the server could count three
// requests in a window that permits two.
const MARGIN_MS = 2

/**
 * Time in milliseconds for which a request can be in transit after its process ended, was stopped, or canceled the
 * request.
 */
export const TRAVEL_MS = 1_000

/**
 * Returns the limit of one process, which is the user's rate, but at most the server's rate. The limit may be below one
 * request per second.
 */
export function ownLimit(rate: number | null, observed: ObservedRateLimit | null): Limit {
  if (observed === null) return limitOf(rate ?? DEFAULT_REQUESTS_PER_SECOND)
  return limitOf(Math.min(rate ?? Number.POSITIVE_INFINITY, quotaOf(observed)))
}

/**
 * Returns the limit of all processes together. A process's own rate applies only if it is above the default and the
 * server states no limit.
 */
export function sharedLimit(rate: number | null, observed: ObservedRateLimit | null): Limit {
  return limitOf(
    observed === null ? Math.max(rate ?? DEFAULT_REQUESTS_PER_SECOND, DEFAULT_REQUESTS_PER_SECOND) : quotaOf(observed),
  )
}

export const isUnlimited = ({ slots }: Limit): boolean => slots === Number.POSITIVE_INFINITY

/**
 * Checks whether the caller accepts a wait.
 *
 * @throws GdnError `rate_limited` if the server requests a longer wait than the caller accepts
 */
export function checkPatience(heldMs: number, patienceMs: number): void {
  if (heldMs <= patienceMs) return
  const seconds = Math.ceil(heldMs / 1000)
  throw new GdnError('rate_limited', `the server's rate limit blocks this request for another ${seconds} s`, {
    hint: 'Wait, then try again.',
  })
}

/**
 * Lowest quota for which requests wait without a message, in requests per second. If a server permits less, gdn reports
 * the server's 429.
 */
const SLOWEST_QUOTA = 1 / 60

/** Returns the quota in requests per second. Ignores a quota of 0, because the server has just accepted a request. */
function quotaOf({ perSecond }: ObservedRateLimit): number {
  if (perSecond === null) return Number.POSITIVE_INFINITY
  return perSecond > 0 ? Math.max(perSecond, SLOWEST_QUOTA) : DEFAULT_REQUESTS_PER_SECOND
}

function limitOf(perSecond: number): Limit {
  if (perSecond === Number.POSITIVE_INFINITY) return { slots: perSecond, windowMs: 0 }
  return { slots: Math.max(1, Math.floor(perSecond)), windowMs: 1000 / Math.min(1, perSecond) + MARGIN_MS }
}
