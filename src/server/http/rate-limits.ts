import type { Endpoint } from '../../api/endpoint.ts'
import { ERROR_TITLES } from '../../api/errors.ts'
import { HEADERS } from '../../api/headers.ts'
import { Refusal } from '../services/refusals.ts'
import type { Store } from '../store/open-store.ts'
import { countRequest } from '../store/rate-windows.ts'

/**
 * Counts a request with a key against an endpoint's limit. Resolves with the rate limit headers, or rejects with a 429.
 */
export type RateLimit = (keyId: string) => Promise<Record<string, string>>

/** Name of the header with the remaining requests of the current window. */
export const RATE_LIMIT_HEADER = 'ratelimit'

const toSeconds = (ms: number) => Math.max(1, Math.ceil(ms / 1000))

/** Creates the limit of an endpoint, which applies to each key. Without a limit, `RateLimit-Policy` has no quota. */
export function createRateLimit(
  { name, ratePerSecond }: Endpoint,
  enabled: boolean,
  store: Pick<Store, 'db' | 'postgres'>,
): RateLimit {
  if (!enabled || ratePerSecond === null) {
    const headers = { [HEADERS.rateLimitPolicy]: `"${name}"` }
    return async () => headers
  }
  // Load the limiter with the first request, so that it doesn't delay the start.
  const load = async () =>
    store.postgres === null
      ? (await import('./memory-limiter.ts')).createMemoryLimiter(ratePerSecond)
      : (keyId: string) => countRequest(store.db, { name: `${name} ${keyId}`, ratePerSecond })
  let loading: ReturnType<typeof load> | undefined
  const policy = { [HEADERS.rateLimitPolicy]: `"${name}";q=${ratePerSecond};w=1` }
  return async (keyId) => {
    loading ??= load()
    const { allowed, remaining, msBeforeNext } = await (await loading)(keyId)
    const wait = toSeconds(msBeforeNext)
    const headers = { ...policy, [RATE_LIMIT_HEADER]: `"${name}";r=${remaining};t=${wait}` }
    if (allowed) return headers
    throw new Refusal(
      429,
      ERROR_TITLES.tooManyRequests,
      `the limit is ${ratePerSecond} requests per second for each key: wait ${wait} s`,
      {
        ...headers,
        [HEADERS.retryAfter]: String(wait),
      },
    )
  }
}
