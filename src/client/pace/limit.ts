import { GdnError } from '../../core/errors.ts'
import type { ObservedRateLimit } from '../rate-limit-policy.ts'

/** A number of requests per time window. */
export interface Limit {
  slots: number
  /** How long a slot stays taken after its response. */
  windowMs: number
}

/** Requests per second if neither the user nor the server sets a limit (API reference v1.1, Limits). */
const DEFAULT_RATE = 2

// Timers fire up to a millisecond early, and the server's clock rounds. With this margin it never counts three.
const MARGIN_MS = 2

/** How long a request may still be in transit after its process ended, was stopped, or canceled it. */
export const TRAVEL_MS = 1_000

/** The limit of one process: the user's rate, but at most the server's. May be below one per second. */
export function ownLimit(rate: number | null, observed: ObservedRateLimit | null): Limit {
  if (observed === null) return limitOf(rate ?? DEFAULT_RATE)
  return limitOf(Math.min(rate ?? Number.POSITIVE_INFINITY, quotaOf(observed)))
}

/** The limit of all processes together. It ignores a lower rate of one process, and admits a higher one. */
export function sharedLimit(rate: number | null, observed: ObservedRateLimit | null): Limit {
  return limitOf(observed === null ? Math.max(rate ?? DEFAULT_RATE, DEFAULT_RATE) : quotaOf(observed))
}

export const isUnlimited = ({ slots }: Limit): boolean => slots === Number.POSITIVE_INFINITY

/** @throws GdnError `rate_limited` when the server asks for a longer wait than the caller accepts */
export function checkPatience(heldMs: number, patienceMs: number): void {
  if (heldMs <= patienceMs) return
  const seconds = Math.ceil(heldMs / 1000)
  throw new GdnError('rate_limited', `the server rejects such requests with this key for another ${seconds} s`, {
    hint: 'Wait, then try again.',
  })
}

/**
 * The lowest quota that requests wait for silently, per second. A server that allows less responds with 429, which is
 * reported.
 */
const SLOWEST_QUOTA = 1 / 60

/** Returns requests per second. A quota of 0 is ignored, since the response that named it was within it. */
function quotaOf({ perSecond }: ObservedRateLimit): number {
  if (perSecond === null) return Number.POSITIVE_INFINITY
  return perSecond > 0 ? Math.max(perSecond, SLOWEST_QUOTA) : DEFAULT_RATE
}

function limitOf(perSecond: number): Limit {
  if (perSecond === Number.POSITIVE_INFINITY) return { slots: perSecond, windowMs: 0 }
  return { slots: Math.max(1, Math.floor(perSecond)), windowMs: 1000 / Math.min(1, perSecond) + MARGIN_MS }
}
