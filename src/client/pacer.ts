import { type EndpointName, loadEndpoint } from '../api/endpoints.ts'
import { bootClock } from '../core/boot-clock.ts'
import { GdnError } from '../core/errors.ts'
import { sleep as systemSleep } from '../core/time.ts'
import { checkPatience, isUnlimited, type Limit, ownLimit, TRAVEL_MS } from './pace/limit.ts'
import type { SharedLimiter, SharedPace, SharedSlot } from './pace/shared-limiter.ts'
import type { ObservedRateLimit } from './rate-limit-policy.ts'

export interface PacerOptions {
  /** Requests per second that the user sets; null leaves it to the server. May be below 1. */
  rate: number | null
  /** Returns the last rate limit of the server for an endpoint. */
  observed(endpoint: EndpointName): ObservedRateLimit | null
  /** Milliseconds on a monotonic clock. */
  now?: () => number
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
  /** Without it this process limits only its own requests. */
  shared?: SharedPace
}

/** Permission to send one request. */
export interface SendPermit {
  /**
   * Called just before the first byte leaves. False if this process was stopped for so long that the permission
   * expired.
   */
  isValid(): boolean
  /** Called when the request was cut. It may still arrive, so its slot stays taken for longer. */
  cut(): void
  /** Called after the response, or when there is none. */
  done(): void
}

export interface Pacer {
  /**
   * Waits for permission to send, in the order of calls. Rejects with the signal's reason. Call `done` after the
   * response, or when there is none.
   */
  take(endpoint: EndpointName, signal?: AbortSignal): Promise<{ done(): void }>
  /** Holds all requests to an endpoint for a time, after 429 and Retry-After. A hold is never shortened. */
  hold(endpoint: EndpointName, ms: number): void
}

/** The pacer as the client uses it for each request. */
export interface ClientPacer extends Pacer {
  /**
   * Returns the permission for a request that is about to be sent: one from an earlier `take`, else a new one.
   *
   * @throws GdnError `rate_limited` when the server asks for a long wait
   */
  enter(endpoint: EndpointName, signal?: AbortSignal): Promise<SendPermit>
}

/** A longer timer would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1
/** The longest hold that `enter` waits for. */
const MAX_HELD_MS = 30_000

const ALONE: SharedSlot = { isValid: () => true, done: async () => {} }

/**
 * Keeps requests below a rate, as measured at the server. A slot is taken from before a request leaves until a second
 * after its response. A request reaches the server before its response leaves, so two requests in one slot arrive at
 * least a second apart. Each endpoint has its own slots.
 */
export function createPacer(options: PacerOptions): ClientPacer {
  const { rate, observed, shared, now = bootClock, sleep = systemSleep } = options
  const limiters = new Map<EndpointName, Limiter>()
  /** Permissions from `take` that are unused. */
  const granted = new Map<EndpointName, SendPermit[]>()

  const limiterOf = (endpoint: EndpointName): Limiter => {
    let limiter = limiters.get(endpoint)
    if (limiter === undefined) {
      const latest = () => observed(endpoint)
      limiter = new Limiter({
        limit: () => ownLimit(rate, latest()),
        now,
        sleep,
        shared: shared === undefined ? null : sharing(shared, endpoint, rate, latest),
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
      const taken = grantedFor(endpoint).shift()
      // Released by the caller of `take`.
      if (taken !== undefined) return { isValid: taken.isValid, cut: taken.cut, done: () => {} }
      return await limiterOf(endpoint).take(signal, MAX_HELD_MS)
    },
    hold: (endpoint, ms) => limiterOf(endpoint).hold(ms),
  }
}

interface LimiterOptions extends Required<Pick<PacerOptions, 'now' | 'sleep'>> {
  /** Read each time, since a response may have changed it. */
  limit(): Limit
  /** Null if this process limits only its own requests. */
  shared: SharedLimiter | null
}

/** The rate limiter of one endpoint. */
class Limiter {
  readonly #options: LimiterOptions
  /** When the slot of each answered request becomes free. */
  #cooling: number[] = []
  #inFlight = 0
  #heldUntil = Number.NEGATIVE_INFINITY
  #turn: Promise<unknown> = Promise.resolve()
  #wake = () => {}

  constructor(options: LimiterOptions) {
    this.#options = options
  }

  take(signal: AbortSignal | undefined, patienceMs: number): Promise<SendPermit> {
    const mine = this.#turn.then(async () => {
      await this.#waitForSlot(signal, patienceMs)
      return await this.#enter(signal, patienceMs)
    })
    this.#turn = mine.catch(() => {})
    return mine
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

  /** Time until a slot may be free; infinite while all are in flight. */
  #waitMs(): number {
    const time = this.#options.now()
    if (this.#heldUntil > time) return this.#heldUntil - time
    this.#cooling = this.#cooling.filter((freeAt) => freeAt > time)
    const hasRoom = this.#inFlight + this.#cooling.length < this.#options.limit().slots
    return hasRoom ? 0 : Math.min(...this.#cooling) - time
  }

  /** Ends early when a response arrives or the caller aborts. */
  async #pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const over = new AbortController()
    this.#wake = () => over.abort()
    signal?.addEventListener('abort', this.#wake, { once: true, signal: over.signal })
    await this.#options.sleep(Math.min(ms, MAX_TIMER_MS), over.signal).catch(() => {})
    over.abort()
  }

  async #enter(signal: AbortSignal | undefined, patienceMs: number): Promise<SendPermit> {
    this.#inFlight += 1
    let slot = ALONE
    try {
      slot = (await this.#options.shared?.take(signal, patienceMs)) ?? ALONE
    } catch (error) {
      this.#leave()
      throw error
    }
    let isDone = false
    let extraMs = 0
    return {
      isValid: () => slot.isValid(),
      cut: () => {
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
    const own = limit()
    if (!isUnlimited(own)) this.#cooling.push(now() + own.windowMs + extraMs)
  }

  #leave(): void {
    this.#inFlight -= 1
    this.#wake()
  }
}

/** Opens the shared limiter. If nothing can be shared, this process limits only its own requests. */
function sharing(
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

  const trying = async (act: () => Promise<void> | undefined): Promise<void> => {
    try {
      await act()
    } catch (error) {
      shared.trouble(error)
    }
  }

  return {
    async take(signal, patienceMs) {
      await opening
      const limiter = opened
      if (limiter === null) return ALONE
      try {
        const slot = await limiter.take(signal, patienceMs)
        return { isValid: slot.isValid, done: (extraMs) => trying(() => slot.done(extraMs)) }
      } catch (error) {
        if (signal?.aborted === true) throw signal.reason
        if (error instanceof GdnError && error.code === 'run_busy') {
          // A stopped process has the lock. Reading continues at the rate of this process.
          if ((await loadEndpoint(endpoint)).creates !== null) throw error
          opened = null
        } else if (error instanceof GdnError && error.code !== 'native_missing') throw error
        shared.trouble(error)
        return ALONE
      }
    },
    hold: (ms) => trying(() => opened?.hold(ms)),
  }
}
