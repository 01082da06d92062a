import { sleep as systemSleep } from '../core/time.ts'

export interface PacerOptions {
  /** Requests in flight or answered within any second; null is no limit. Below 1, seconds lie between requests. */
  perSecond: number | null
  /** Milliseconds on a clock that never steps. */
  now?: () => number
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
}

/** The right to send one request. Exactly one of its functions is called, once. */
export interface Permit {
  /** The request was answered, or failed after it may have left. */
  answered(): void
  /** Nothing was sent: the place is free at once. */
  unused(): void
}

export interface Pacer {
  /** Waits for a place, in the order of asking. Rejects with the signal's reason. */
  acquire(signal?: AbortSignal): Promise<Permit>
  /** Lets nothing leave before a time of `now()`: for 429 and Retry-After. A hold is never shortened. */
  hold(untilMs: number): void
  now(): number
}

// Timers fire up to a millisecond early, and the server's clock rounds: with this much more it never counts three.
const MARGIN_MS = 2

/**
 * Keeps requests below a rate, seen from the server: a place is taken from before a request leaves until a second
 * after its answer came. However long a request travels, it reaches the server before its answer leaves, so any two
 * that use one place arrive at least a second apart.
 */
export function createPacer({ perSecond, now = () => performance.now(), sleep = systemSleep }: PacerOptions): Pacer {
  if (perSecond !== null && !(perSecond > 0)) throw new RangeError(`a rate must be above 0, not ${perSecond}`)
  const places = perSecond === null ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(perSecond))
  const windowMs = perSecond === null ? 0 : 1000 / Math.min(1, perSecond) + MARGIN_MS
  /** When each answered place becomes free, in ascending order. */
  const cooling: number[] = []
  let inFlight = 0
  let heldUntil = Number.NEGATIVE_INFINITY
  let turn: Promise<unknown> = Promise.resolve()
  let wake = () => {}

  /** How long until a place is free; null while all are in flight. */
  function waitMs(): number | null {
    const time = now()
    while ((cooling[0] ?? Number.POSITIVE_INFINITY) <= time) cooling.shift()
    if (heldUntil > time) return heldUntil - time
    if (inFlight + cooling.length < places) return 0
    return cooling[0] === undefined ? null : cooling[0] - time
  }

  async function takeTurn(signal: AbortSignal | undefined): Promise<Permit> {
    for (;;) {
      signal?.throwIfAborted()
      const wait = waitMs()
      if (wait === 0) break
      if (wait === null) await changed(signal)
      else await sleep(wait, signal)
    }
    inFlight++
    let isOver = false
    const end = (freeAt: number | null) => {
      if (isOver) return
      isOver = true
      inFlight--
      if (freeAt !== null && places !== Number.POSITIVE_INFINITY) cooling.push(freeAt)
      wake()
    }
    return { answered: () => end(now() + windowMs), unused: () => end(null) }
  }

  function changed(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = () => reject(signal?.reason)
      signal?.addEventListener('abort', abort, { once: true })
      wake = () => {
        signal?.removeEventListener('abort', abort)
        resolve()
      }
    })
  }

  return {
    acquire(signal) {
      const mine = turn.then(() => takeTurn(signal))
      turn = mine.catch(() => {})
      return mine
    },
    hold(untilMs) {
      heldUntil = Math.max(heldUntil, untilMs)
    },
    now,
  }
}
