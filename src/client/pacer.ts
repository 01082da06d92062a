import { type EndpointName, loadEndpoint } from '../api/endpoints.ts'
import { bootClock } from '../core/boot-clock.ts'
import { GdnError } from '../core/errors.ts'
import { sleep as systemSleep } from '../core/time.ts'
import { checkPatience, isUnlimited, type Limit, ownLimit, TRAVEL_MS } from './pace/limit.ts'
import type { SharedLane, SharedPlace } from './pace/shared-lane.ts'
import type { ObservedRateLimit } from './rate-limit-policy.ts'

/** Places that are shared with the other gdn processes of this machine. */
export interface SharedPace {
  lane(endpoint: EndpointName, rate: number | null, observed: () => ObservedRateLimit | null): Promise<SharedLane>
  /** Told why nothing can be shared; the pace of this process alone goes on. */
  trouble(error: unknown): void
}

export interface PacerOptions {
  /** Requests a second that the user wants; null leaves it to the server. Below 1, seconds lie between requests. */
  rate: number | null
  /** What the server told last about an endpoint. */
  observed(endpoint: EndpointName): ObservedRateLimit | null
  /** Milliseconds on a clock that never steps. */
  now?: () => number
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
  /** Without it the pace is this process's own. */
  shared?: SharedPace
}

/** Leave to send one request. */
export interface Leave {
  /** Asked just before the first byte leaves. False: this process was stopped for so long that its leave has lapsed. */
  isValid(): boolean
  /** The request was cut: it may arrive still, so its place stays taken for longer. */
  cut(): void
  /** Called when the answer, or the lack of one, is known. */
  done(): void
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

/** What the client asks for each request that it sends. */
export interface ClientPacer extends Pacer {
  /**
   * Leave for a request that is about to be sent: one that was taken for it with `take`, else a new one.
   *
   * @throws GdnError `rate_limited` when the server wants to be left alone for long
   */
  enter(endpoint: EndpointName, signal?: AbortSignal): Promise<Leave>
}

interface Lane {
  take(signal: AbortSignal | undefined, patienceMs: number): Promise<Leave>
  hold(ms: number): void
}

/** A longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1
/** Who didn't ask for leave beforehand doesn't reckon with waiting for longer. */
const MAX_HELD_MS = 30_000

const ALONE: SharedPlace = { isValid: () => true, done: async () => {} }

/**
 * Keeps requests below a rate, seen from the server: a place is taken from before a request leaves until a second
 * after its answer came. However long a request travels, it reaches the server before its answer leaves, so any two
 * that use one place arrive at least a second apart. Each endpoint has places of its own.
 */
export function createPacer(options: PacerOptions): ClientPacer {
  const { rate, observed, shared, now = bootClock, sleep = systemSleep } = options
  const lanes = new Map<EndpointName, Lane>()
  /** Taken beforehand, and not used yet. */
  const granted = new Map<EndpointName, Leave[]>()

  const laneOf = (endpoint: EndpointName): Lane => {
    let lane = lanes.get(endpoint)
    if (lane === undefined) {
      const told = () => observed(endpoint)
      const together = shared === undefined ? null : sharing(shared, endpoint, rate, told)
      lane = createLane(() => ownLimit(rate, told()), now, sleep, together)
      lanes.set(endpoint, lane)
    }
    return lane
  }

  const grantedFor = (endpoint: EndpointName): Leave[] => {
    const leaves = granted.get(endpoint) ?? []
    granted.set(endpoint, leaves)
    return leaves
  }

  return {
    async take(endpoint, signal) {
      const leave = await laneOf(endpoint).take(signal, Number.POSITIVE_INFINITY)
      const unused = grantedFor(endpoint)
      unused.push(leave)
      return {
        done() {
          if (unused.includes(leave)) unused.splice(unused.indexOf(leave), 1)
          leave.done()
        },
      }
    },
    async enter(endpoint, signal) {
      const taken = grantedFor(endpoint).shift()
      // Whoever took it gives it back.
      if (taken !== undefined) return { isValid: taken.isValid, cut: taken.cut, done: () => {} }
      return await laneOf(endpoint).take(signal, MAX_HELD_MS)
    },
    hold: (endpoint, ms) => laneOf(endpoint).hold(ms),
  }
}

/** The requests of one endpoint. The limit is asked for each time: an answer may have told another. */
function createLane(
  limit: () => Limit,
  now: () => number,
  sleep: NonNullable<PacerOptions['sleep']>,
  together: SharedLane | null,
): Lane {
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

  async function takeTurn(signal: AbortSignal | undefined, patienceMs: number): Promise<Leave> {
    for (;;) {
      signal?.throwIfAborted()
      checkPatience(heldUntil - now(), patienceMs)
      const ms = waitMs()
      if (ms === 0) break
      await pause(ms, signal)
    }
    inFlight += 1
    let isDone = false
    let extraMs = 0
    let place = ALONE
    const done = () => {
      if (isDone) return
      isDone = true
      inFlight -= 1
      const own = limit()
      if (!isUnlimited(own)) cooling.push(now() + own.windowMs + extraMs)
      void place.done(extraMs)
      wake()
    }
    try {
      if (together !== null) place = await together.take(signal, patienceMs)
    } catch (error) {
      isDone = true
      inFlight -= 1
      wake()
      throw error
    }
    return {
      isValid: () => place.isValid(),
      cut() {
        extraMs = TRAVEL_MS
      },
      done,
    }
  }

  return {
    take(signal, patienceMs) {
      const mine = turn.then(() => takeTurn(signal, patienceMs))
      turn = mine.catch(() => {})
      return mine
    },
    hold(ms) {
      heldUntil = Math.max(heldUntil, now() + ms)
      void together?.hold(ms)
    },
  }
}

/** The shared lane, opened when it is first needed. Where nothing can be shared, this process keeps its own pace. */
function sharing(
  shared: SharedPace,
  endpoint: EndpointName,
  rate: number | null,
  observed: () => ObservedRateLimit | null,
): SharedLane {
  let opened: SharedLane | null = null
  const opening = shared.lane(endpoint, rate, observed).then(
    (lane) => {
      opened = lane
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
      const lane = opened
      if (lane === null) return ALONE
      try {
        const place = await lane.take(signal, patienceMs)
        return { isValid: place.isValid, done: (extraMs) => trying(() => place.done(extraMs)) }
      } catch (error) {
        if (signal?.aborted === true) throw signal.reason
        if (error instanceof GdnError && error.code === 'run_busy') {
          // A stopped process has the lock: reading goes on at the pace of this process.
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
