import { backoffMs } from '../../../core/backoff.ts'
import { createPace, type Pace } from '../../../files/pace.ts'

/** What became of a request: an answer, a refusal of what was asked, "too much for now", or none. */
export type RpcOutcome = 'answered' | 'refused' | 'limited' | 'failed'

/** Who answers at a URL, as this process has come to know it. */
export interface Provider {
  /** All that may be told of a URL: the rest can hold a key. */
  readonly host: string
  /** Most calls of one request: what may be asked in a second. */
  readonly callsAtOnce: number
  /** Resolves when so many calls may be sent; rejects with the signal's reason. */
  enter(calls: number, signal: AbortSignal): Promise<void>
  /** It has answered. */
  answered(): void
  /** It asks to be left alone: for so long, else for as long as it has earned by saying so again and again. */
  limited(ms: number | null): void
  /** Milliseconds for which it is to be left alone. */
  restMs(): number
}

export interface Providers {
  of(url: string): Provider
}

/** A second, then twice as long each time that it says so again. */
const FIRST_REST_MS = 1000
const LONGEST_OWN_REST_MS = 60_000
/** No answer of a provider keeps us away for longer: a mistake of it would. */
const LONGEST_REST_MS = 5 * 60_000

/**
 * What all who ask providers have in common: how often each may be asked, and until when it is to be left alone. A
 * provider's limit of requests is its host's, whoever of this process asks; that it is exhausted is a URL's, since
 * another key of the same host may not be.
 *
 * @param limits requests per second by URL; of several for one host the least holds
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
    paces.set(host, { apartMs, pace: createPace({ atOnce: Number.POSITIVE_INFINITY, apartMs }, now) })
  }
  const known = new Map<string, Provider>()

  const make = (url: string): Provider => {
    const { host } = new URL(url)
    const paced = paces.get(host)
    let restUntil = Number.NEGATIVE_INFINITY
    let inARow = 0
    return {
      host,
      callsAtOnce: Math.max(1, Math.floor(perSecond.get(host) ?? Number.POSITIVE_INFINITY)),
      async enter(calls, signal) {
        if (paced === undefined) return
        const leave = await paced.pace.enter(host, signal)
        // The calls of a batch count one by one.
        if (calls > 1) paced.pace.pause(host, calls * paced.apartMs)
        leave()
      },
      answered() {
        inARow = 0
      },
      limited(ms) {
        // Those under way at the same time are refused for the same reason.
        if (restUntil > now() && ms === null) return
        inARow += 1
        const own = backoffMs(inARow, { firstMs: firstRestMs, maxMs: LONGEST_OWN_REST_MS, jitter: 0 })
        restUntil = Math.max(restUntil, now() + Math.min(ms ?? own, LONGEST_REST_MS))
      },
      restMs: () => Math.max(0, restUntil - now()),
    }
  }

  return {
    of(url) {
      let provider = known.get(url)
      if (provider === undefined) {
        provider = make(url)
        known.set(url, provider)
      }
      return provider
    },
  }
}
