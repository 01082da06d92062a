import type { Endpoint } from '../../api/endpoint.ts'
import { TITLES } from '../../api/errors.ts'
import { HEADERS } from '../../api/headers.ts'
import { Refusal } from '../services/refusal.ts'

/** Counts a request of a key against an endpoint's limit; resolves with the headers that tell where it stands. */
export type RateLimit = (keyId: string) => Promise<Record<string, string>>

const seconds = (ms: number) => Math.max(1, Math.ceil(ms / 1000))

/** The limit of an endpoint, per key. Where limits are off, or there is none, `RateLimit-Policy` has no quota. */
export function createRateLimit({ name, ratePerSecond }: Endpoint, enabled: boolean): RateLimit {
  if (!enabled || ratePerSecond === null) {
    const headers = { [HEADERS.rateLimitPolicy]: `"${name}"` }
    return async () => headers
  }
  // Loaded with the first request, not before the backend is ready.
  const load = async () => {
    const { RateLimiterMemory, RateLimiterRes } = await import('rate-limiter-flexible')
    return { limiter: new RateLimiterMemory({ points: ratePerSecond, duration: 1 }), RateLimiterRes }
  }
  let loading: ReturnType<typeof load> | undefined
  const policy = { [HEADERS.rateLimitPolicy]: `"${name}";q=${ratePerSecond};w=1` }
  return async (keyId) => {
    loading ??= load()
    const { limiter, RateLimiterRes } = await loading
    try {
      const { remainingPoints, msBeforeNext } = await limiter.consume(keyId)
      return { ...policy, ratelimit: `"${name}";r=${remainingPoints};t=${seconds(msBeforeNext)}` }
    } catch (rejection) {
      if (!(rejection instanceof RateLimiterRes)) throw rejection
      const wait = seconds(rejection.msBeforeNext)
      throw new Refusal(429, TITLES.tooManyRequests, `at most ${ratePerSecond} requests a second; wait ${wait} s`, {
        ...policy,
        ratelimit: `"${name}";r=0;t=${wait}`,
        [HEADERS.retryAfter]: String(wait),
      })
    }
  }
}
