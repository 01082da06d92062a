import { backoffMs } from '../../../core/backoff.ts'
import { createPace, type Pace } from '../../../files/pace.ts'

/** The outcome of a request: answered, rejected, rate limited, or failed. */
export type RpcOutcome = 'answered' | 'refused' | 'limited' | 'failed'

/** A provider's rate limit, and its pauses as observed by this process. */
export interface Provider {
  /** Host of the URL. The rest of the URL can contain a key and must not be shown. */
  readonly host: string
  /** Maximum number of calls in one request. It equals the number of calls that are allowed per second. */
  readonly callsAtOnce: number
  /** Resolves when this many calls may be sent; rejects with the signal's reason. */
  enter(calls: number, signal: AbortSignal): Promise<void>
  /** Records a successful response. */
  responded(): void
  /**
   * Records that the provider rate-limited a request. Pauses for the requested time, or else with exponential backoff.
   */
  limited(ms: number | null): void
  /** Remaining pause in milliseconds. */
  restMs(): number
}

export interface Providers {
  of(url: string): Provider
}

/** First pause in milliseconds if the provider doesn't request a duration. Each further pause is twice as long. */
const FIRST_REST_MS = 1000
const MAX_BACKOFF_MS = 60_000
/** Maximum pause in milliseconds, in case a provider requests an unreasonably long pause. */
const MAX_REST_MS = 5 * 60_000

/**
 * The rate limits of all providers, and the pauses between requests to them. A rate limit applies to a provider's host,
 * for all requests of this process. A pause applies to one URL, because another key for the same host may have quota
 * left.
 *
 * @param limits requests per second by URL. If a host has several URLs, the lowest limit applies to the host
 */
export function createProviders(
  limits: Iterable<readonly [url: string, perSecond: number]> = [],
  { now = () => performance.now(), firstRestMs = FIRST_REST_MS } = {},
): Providers {
  const perSecond = new Map<string, number>()
  for (const [url, limit] of limits) {
    const { host } = new URL(url)
    perSecond.set(host, Math.min(limit, perSecond.get(host) ?? Number.POSITIVE_INFINITY))
  }
  const paces = new Map<string, { pace: Pace; apartMs: number }>()
  for (const [host, limit] of perSecond) {
    const apartMs = 1000 / limit
    paces.set(host, { apartMs, pace: createPace({ maxConcurrent: Number.POSITIVE_INFINITY, apartMs }, now) })
  }
  const providers = new Map<string, Provider>()

  const make = (url: string): Provider => {
    const { host } = new URL(url)
    const paced = paces.get(host)
    let restUntil = Number.NEGATIVE_INFINITY
    let limitedCount = 0
    return {
      host,
      callsAtOnce: Math.max(1, Math.floor(perSecond.get(host) ?? Number.POSITIVE_INFINITY)),
      async enter(calls, signal) {
        if (paced === undefined) return
        const leave = await paced.pace.enter(host, signal)
        // Count the calls of a batch one by one, as providers do.
        if (calls > 1) paced.pace.pause(host, calls * paced.apartMs)
        leave()
      },
      responded() {
        limitedCount = 0
      },
      limited(ms) {
        // Don't extend the pause for a request that was in flight when the pause began.
        if (restUntil > now() && ms === null) return
        limitedCount += 1
        const ownRestMs = backoffMs(limitedCount, { firstMs: firstRestMs, maxMs: MAX_BACKOFF_MS, jitter: 0 })
        restUntil = Math.max(restUntil, now() + Math.min(ms ?? ownRestMs, MAX_REST_MS))
      },
      restMs: () => Math.max(0, restUntil - now()),
    }
  }

  return {
    of(url) {
      let provider = providers.get(url)
      if (provider === undefined) {
        provider = make(url)
        providers.set(url, provider)
      }
      return provider
    },
  }
}
