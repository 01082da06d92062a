import { type EndpointName, loadEndpoint } from '../api/endpoints.ts'
import { GdnError } from '../core/errors.ts'
import { bootClock, sleep as systemSleep } from '../core/time.ts'
import type { ObservedRateLimit } from './announcements.ts'
import { checkPatience, isUnlimited, type Limit, ownLimit, TRAVEL_MS } from './pace/limit.ts'
import type { SharedLimiter, SharedPace, SharedSlot } from './pace/shared-limiter.ts'

export interface PacerOptions {
  /**
   * The user's rate in requests per second, which may be below 1. If it is null, the server's limit or the default
   * applies.
   */
  rate: number | null
  /** Returns the latest rate limit that the server stated for an endpoint. */
  observed(endpoint: EndpointName): ObservedRateLimit | null
  /** Returns the monotonic time in milliseconds. */
  now?: () => number
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
  /** The limiters that processes share. Without them, this process limits only its own requests. */
  shared?: SharedPace
}

/** Permission to send one request. */
export interface SendPermit {
  /**
   * Returns whether the permission is still valid. Call it just before the first byte is sent. The permission expires
   * if this process was stopped for a while.
   */
  isValid(): boolean
  /** Reports that the connection was lost. The request may still arrive, so its slot stays in use for longer. */
  connectionLost(): void
  /** Releases the slot. Call it after the response, or when no response will arrive. */
  done(): void
}

export interface Pacer {
  /**
   * Waits for permission to send, in the order of calls. Rejects with the signal's reason. Call `done` after the
   * response, or when no response will arrive.
   */
  take(endpoint: EndpointName, signal?: AbortSignal): Promise<{ done(): void }>
  /** Delays all requests to an endpoint, after 429 or Retry-After. Never shortens an earlier delay. */
  hold(endpoint: EndpointName, ms: number): void
}

/** A pacer with the method that the client calls for each request. */
export interface ClientPacer extends Pacer {
  /**
   * Returns permission for a request that is about to be sent. Uses a permission from an earlier `take` if there is
   * one. Otherwise, waits for a new permission.
   *
   * @throws GdnError `rate_limited` if the server requests a long wait
   */
  enter(endpoint: EndpointName, signal?: AbortSignal): Promise<SendPermit>
}

/** Maximum delay of a timer in milliseconds. A timer with a longer delay would fire immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1
/** Maximum delay in milliseconds for which `enter` waits. */
const MAX_HELD_MS = 30_000

const UNSHARED_SLOT: SharedSlot = { isValid: () => true, done: async () => {} }

/**
 * Creates a pacer, which limits the request rate as measured by the server. A slot is in use from before a request is
 * sent until a second after its response. A request reaches the server before the server sends the response, so two
 * requests in one slot arrive at least a second apart. Each endpoint has separate slots.
 */
export function createPacer(options: PacerOptions): ClientPacer {
  const { rate, observed, shared, now = bootClock, sleep = systemSleep } = options
  const limiters = new Map<EndpointName, Limiter>()
  /** Unused permissions from `take`. */
  const granted = new Map<EndpointName, SendPermit[]>()

  const limiterOf = (endpoint: EndpointName): Limiter => {
    let limiter = limiters.get(endpoint)
    if (limiter === undefined) {
      const latest = () => observed(endpoint)
      limiter = new Limiter({
        limit: () => ownLimit(rate, latest()),
        now,
        sleep,
        shared: shared === undefined ? null : shareLimiter(shared, endpoint, rate, latest),
      })
      limiters.set(endpoint, limiter)
    }
    return limiter
  }

  const grantedFor = (endpoint: EndpointName): SendPermit[] => {
    const permits = granted.get(endpoint) ?? []
    granted.set(endpoint, permits)
    return permits
  }

  return {
    async take(endpoint, signal) {
      const permit = await limiterOf(endpoint).take(signal, Number.POSITIVE_INFINITY)
      const unused = grantedFor(endpoint)
      unused.push(permit)
      return {
        done() {
          if (unused.includes(permit)) unused.splice(unused.indexOf(permit), 1)
          permit.done()
        },
      }
    },
    async enter(endpoint, signal) {
      const grant = grantedFor(endpoint).shift()
      // The caller of `take` releases the slot.
      if (grant !== undefined) return { isValid: grant.isValid, connectionLost: grant.connectionLost, done: () => {} }
      return await limiterOf(endpoint).take(signal, MAX_HELD_MS)
    },
    hold: (endpoint, ms) => limiterOf(endpoint).hold(ms),
  }
}

interface LimiterOptions extends Required<Pick<PacerOptions, 'now' | 'sleep'>> {
  /** Returns the limit. Called before each use, because a response may have changed it. */
  limit(): Limit
  /** The shared limiter; null if this process limits only its own requests. */
  shared: SharedLimiter | null
}

class Limiter {
  readonly #options: LimiterOptions
  /** Times when the slots of completed requests become free. */
  #cooling: number[] = []
  #inFlight = 0
  #heldUntil = Number.NEGATIVE_INFINITY
  #lastTurn: Promise<unknown> = Promise.resolve()
  #wake = () => {}

  constructor(options: LimiterOptions) {
    this.#options = options
  }

  take(signal: AbortSignal | undefined, patienceMs: number): Promise<SendPermit> {
    const permit = this.#lastTurn.then(async () => {
      await this.#waitForSlot(signal, patienceMs)
      return await this.#enter(signal, patienceMs)
    })
    this.#lastTurn = permit.catch(() => {})
    return permit
  }

  hold(ms: number): void {
    const { now, shared } = this.#options
    this.#heldUntil = Math.max(this.#heldUntil, now() + ms)
    void shared?.hold(ms)
  }

  async #waitForSlot(signal: AbortSignal | undefined, patienceMs: number): Promise<void> {
    for (;;) {
      signal?.throwIfAborted()
      checkPatience(this.#heldUntil - this.#options.now(), patienceMs)
      const ms = this.#waitMs()
      if (ms === 0) return
      await this.#pause(ms, signal)
    }
  }

  /** Returns the time until a slot may be free, in milliseconds. The time is infinite while all slots are in flight. */
  #waitMs(): number {
    const time = this.#options.now()
    if (this.#heldUntil > time) return this.#heldUntil - time
    this.#cooling = this.#cooling.filter((freeAt) => freeAt > time)
    const hasRoom = this.#inFlight + this.#cooling.length < this.#options.limit().slots
    return hasRoom ? 0 : Math.min(...this.#cooling) - time
  }

  /** Waits for the given time, or until a response arrives or the signal is aborted. */
  async #pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const over = new AbortController()
    this.#wake = () => over.abort()
    signal?.addEventListener('abort', this.#wake, { once: true, signal: over.signal })
    await this.#options.sleep(Math.min(ms, MAX_TIMER_MS), over.signal).catch(() => {})
    over.abort()
  }

  async #enter(signal: AbortSignal | undefined, patienceMs: number): Promise<SendPermit> {
    this.#inFlight += 1
    let slot = UNSHARED_SLOT
    try {
      slot = (await this.#options.shared?.take(signal, patienceMs)) ?? UNSHARED_SLOT
    } catch (error) {
      this.#leave()
      throw error
    }
    let isDone = false
    let extraMs = 0
    return {
      isValid: () => slot.isValid(),
      connectionLost: () => {
        extraMs = TRAVEL_MS
      },
      done: () => {
        if (isDone) return
        isDone = true
        this.#coolDown(extraMs)
        void slot.done(extraMs)
        this.#leave()
      },
    }
  }

  #coolDown(extraMs: number): void {
    const { limit, now } = this.#options
    const rateLimit = limit()
    if (!isUnlimited(rateLimit)) this.#cooling.push(now() + rateLimit.windowMs + extraMs)
  }

  #leave(): void {
    this.#inFlight -= 1
    this.#wake()
  }
}

/** Opens the shared limiter. If that fails, this process limits only its own requests. */
function shareLimiter(
  shared: SharedPace,
  endpoint: EndpointName,
  rate: number | null,
  observed: () => ObservedRateLimit | null,
): SharedLimiter {
  let opened: SharedLimiter | null = null
  const opening = shared.limiter(endpoint, rate, observed).then(
    (limiter) => {
      opened = limiter
    },
    (error: unknown) => shared.trouble(error),
  )

  const tryShared = async (task: () => Promise<void> | undefined): Promise<void> => {
    try {
      await task()
    } catch (error) {
      shared.trouble(error)
    }
  }

  return {
    async take(signal, patienceMs) {
      await opening
      const limiter = opened
      if (limiter === null) return UNSHARED_SLOT
      try {
        const slot = await limiter.take(signal, patienceMs)
        return { isValid: slot.isValid, done: (extraMs) => tryShared(() => slot.done(extraMs)) }
      } catch (error) {
        if (signal?.aborted === true) throw signal.reason
        if (error instanceof GdnError && error.code === 'run_busy') {
          // A stopped process holds the lock, so read-only requests continue with the limit of this process alone.
          if ((await loadEndpoint(endpoint)).creates !== null) throw error
          opened = null
        } else if (error instanceof GdnError && error.code !== 'native_missing') throw error
        shared.trouble(error)
        return UNSHARED_SLOT
      }
    },
    hold: (ms) => tryShared(() => opened?.hold(ms)),
  }
}
