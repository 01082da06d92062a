import { GdnError } from '../../core/errors.ts'
import type { ObservedRateLimit } from '../rate-limit-policy.ts'

/** A number of requests per time window. */
export interface Limit {
  slots: number
  /** How long a slot stays taken after its response. */
  windowMs: number
}

/** Requests a second where neither the user nor the server says otherwise (api-v1.1.md, Limits). */
const DEFAULT_RATE = 2

// Timers fire up to a millisecond early, and the server's clock rounds: with this much more it never counts three.
const MARGIN_MS = 2

/** How long bytes may still travel that left before their process ended, was stopped, or gave up waiting. */
export const TRAVEL_MS = 1_000

/** What one process keeps to: the user's rate, but never more than the server told. Below one a second, seconds lie between. */
export function ownLimit(rate: number | null, told: ObservedRateLimit | null): Limit {
  if (told === null) return limitOf(rate ?? DEFAULT_RATE)
  return limitOf(Math.min(rate ?? Number.POSITIVE_INFINITY, quotaOf(told)))
}

/** What all processes together keep to. A lower rate is its process's own affair; a higher one needs room here as well. */
export function sharedLimit(rate: number | null, told: ObservedRateLimit | null): Limit {
  return limitOf(told === null ? Math.max(rate ?? DEFAULT_RATE, DEFAULT_RATE) : quotaOf(told))
}

export const isUnlimited = ({ slots }: Limit): boolean => slots === Number.POSITIVE_INFINITY

/** @throws GdnError `rate_limited` when the server wants to be left alone for longer than anybody would wait */
export function checkPatience(heldMs: number, patienceMs: number): void {
  if (heldMs <= patienceMs) return
  const seconds = Math.ceil(heldMs / 1000)
  throw new GdnError('rate_limited', `the server wants no such requests with this key for another ${seconds} s`, {
    hint: 'try again then',
  })
}

/** Requests a second; one that wants fewer says so with 429, which people are told of: this is waited for in silence. */
const SLOWEST_TOLD = 1 / 60

/** A quota of nothing can't be meant: the answer that told it was within it. */
function quotaOf({ perSecond }: ObservedRateLimit): number {
  if (perSecond === null) return Number.POSITIVE_INFINITY
  return perSecond > 0 ? Math.max(perSecond, SLOWEST_TOLD) : DEFAULT_RATE
}

function limitOf(perSecond: number): Limit {
  if (perSecond === Number.POSITIVE_INFINITY) return { slots: perSecond, windowMs: 0 }
  return { slots: Math.max(1, Math.floor(perSecond)), windowMs: 1000 / Math.min(1, perSecond) + MARGIN_MS }
}
