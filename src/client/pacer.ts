import type { EndpointName } from '../api/endpoints.ts'
import { sleep as systemSleep } from '../core/time.ts'
import type { ObservedRateLimit } from './rate-limit-policy.ts'

export interface PacerOptions {
  /** Requests a second that the user wants; null leaves it to the server. Below 1, seconds lie between requests. */
  rate: number | null
  /** What the server told last about an endpoint. */
  observed(endpoint: EndpointName): ObservedRateLimit | null
  /** Milliseconds on a clock that never steps. */
  now?: () => number
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
}

export interface Pacer {
  /**
   * Waits for leave to send, in the order of asking; rejects with the signal's reason. `done` is called when the
   * answer, or the lack of one, is known.
   */
  take(endpoint: EndpointName, signal?: AbortSignal): Promise<{ done(): void }>
  /** Lets nothing of that endpoint leave for so long: for 429 and Retry-After. A hold is never shortened. */
  hold(endpoint: EndpointName, ms: number): void
}

interface Lane {
  take(signal: AbortSignal | undefined): Promise<{ done(): void }>
  hold(ms: number): void
}

interface Limit {
  places: number
  /** How long a place stays taken after its answer. */
  windowMs: number
}

/** Requests a second where neither the user nor the server says otherwise (api-v1.1.md, Limits). */
const DEFAULT_RATE = 2

// Timers fire up to a millisecond early, and the server's clock rounds: with this much more it never counts three.
const MARGIN_MS = 2

/** A longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * Keeps requests below a rate, seen from the server: a place is taken from before a request leaves until a second
 * after its answer came. However long a request travels, it reaches the server before its answer leaves, so any two
 * that use one place arrive at least a second apart. Each endpoint has places of its own.
 */
export function createPacer(options: PacerOptions): Pacer {
  const { rate, observed, now = () => performance.now(), sleep = systemSleep } = options
  const lanes = new Map<EndpointName, Lane>()

  const laneOf = (endpoint: EndpointName): Lane => {
    const lane = lanes.get(endpoint) ?? createLane(() => limitOf(rate, observed(endpoint)), now, sleep)
    lanes.set(endpoint, lane)
    return lane
  }

  return {
    take: (endpoint, signal) => laneOf(endpoint).take(signal),
    hold: (endpoint, ms) => laneOf(endpoint).hold(ms),
  }
}

/** The requests of one endpoint. The limit is asked for each time: an answer may have told another. */
function createLane(limit: () => Limit, now: () => number, sleep: NonNullable<PacerOptions['sleep']>): Lane {
  /** When each answered place becomes free. */
  let cooling: number[] = []
  let inFlight = 0
  let heldUntil = Number.NEGATIVE_INFINITY
  let turn: Promise<unknown> = Promise.resolve()
  let wake = () => {}

  /** How long until there may be a place; without end while all are in flight. */
  function waitMs(): number {
    const time = now()
    if (heldUntil > time) return heldUntil - time
    cooling = cooling.filter((freeAt) => freeAt > time)
    return inFlight + cooling.length < limit().places ? 0 : Math.min(...cooling) - time
  }

  /** Ends early when an answer comes or the caller gives up. */
  async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const over = new AbortController()
    wake = () => over.abort()
    signal?.addEventListener('abort', wake, { once: true, signal: over.signal })
    await sleep(Math.min(ms, MAX_TIMER_MS), over.signal).catch(() => {})
    over.abort()
  }

  async function takeTurn(signal: AbortSignal | undefined) {
    for (;;) {
      signal?.throwIfAborted()
      const ms = waitMs()
      if (ms === 0) break
      await pause(ms, signal)
    }
    inFlight += 1
    let isDone = false
    return {
      done() {
        if (isDone) return
        isDone = true
        inFlight -= 1
        const { places, windowMs } = limit()
        if (places !== Number.POSITIVE_INFINITY) cooling.push(now() + windowMs)
        wake()
      },
    }
  }

  return {
    take(signal) {
      const mine = turn.then(() => takeTurn(signal))
      turn = mine.catch(() => {})
      return mine
    },
    hold(ms) {
      heldUntil = Math.max(heldUntil, now() + ms)
    },
  }
}

/** So many requests in so many milliseconds. A rate below one a second is one in a longer time. */
function limitOf(rate: number | null, observed: ObservedRateLimit | null): Limit {
  const perSecond = rate ?? (observed === null ? DEFAULT_RATE : observed.perSecond)
  if (perSecond === null) return { places: Number.POSITIVE_INFINITY, windowMs: 0 }
  // A quota of nothing can't be meant: the answer that told it was within it.
  const usable = perSecond > 0 ? perSecond : DEFAULT_RATE
  return { places: Math.max(1, Math.floor(usable)), windowMs: 1000 / Math.min(1, usable) + MARGIN_MS }
}
