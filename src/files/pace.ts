/** Limits for requests to one origin, whose operator may not be prepared for requests for ten thousand files. */
export interface PaceLimits {
  /** Maximum number of concurrent transfers from one origin. */
  maxConcurrent: number
  /** Milliseconds between the starts of two transfers. */
  apartMs: number
}

export const DEFAULT_PACE: PaceLimits = { maxConcurrent: 6, apartMs: 20 }

/** The longest pause in milliseconds that an origin can request. */
const MAX_PAUSE_MS = 5 * 60_000

/**
 * Maximum wait in milliseconds in the queue of an origin. The caller should retry a request with a longer wait later.
 */
const MAX_QUEUE_WAIT_MS = 250

/** The number of requests that may wait in the queue of an origin. */
const MAX_QUEUED = 2

/** When there are this many origins, idle origins are removed before another origin is added. */
const MAX_IDLE_ORIGINS = 1000

export interface Pace {
  /**
   * Resolves when a request to an origin may start. Requests start in order of arrival. Returns a function to call
   * after the transfer.
   *
   * @throws the signal's reason once the signal is aborted
   */
  enter(origin: string, signal: AbortSignal): Promise<() => void>
  /**
   * Returns the delay in milliseconds before a new request, or 0 if it can start immediately. Thousands of requests get
   * different times, spaced as if each started on time. If an origin is slow, requests that can't start on time get a
   * new time. The delay isn't estimated from the duration of transfers, because after a slow start, such an estimate
   * leaves origins idle that have become fast.
   */
  delayMs(origin: string): number
  /** Starts no further requests to an origin for this many milliseconds. */
  pause(origin: string, ms: number): void
}

interface Origin {
  activeRequests: number
  /** Time when the next request may start. */
  nextStartMs: number
  queue: (() => void)[]
  /** The latest time that `delayMs` has assigned to a request. */
  lastBookedMs: number
  timer: NodeJS.Timeout | undefined
}

/** Creates a pace that applies the limits to this process's requests to each origin. */
export function createPace({ maxConcurrent, apartMs }: PaceLimits = DEFAULT_PACE, now = () => performance.now()): Pace {
  const origins = new Map<string, Origin>()

  const find = (name: string): Origin => {
    let origin = origins.get(name)
    if (origin === undefined) {
      if (origins.size >= MAX_IDLE_ORIGINS) forget()
      origin = { activeRequests: 0, nextStartMs: 0, queue: [], lastBookedMs: 0, timer: undefined }
      origins.set(name, origin)
    }
    return origin
  }

  const forget = () => {
    for (const [name, origin] of origins) if (isIdle(origin)) origins.delete(name)
  }

  /** Starts waiting requests that may start, and schedules the next check. */
  const admit = (name: string, origin: Origin): void => {
    clearTimeout(origin.timer)
    origin.timer = undefined
    while (origin.queue.length > 0 && origin.activeRequests < maxConcurrent) {
      const early = origin.nextStartMs - now()
      if (early > 0) {
        origin.timer = setTimeout(() => admit(name, origin), early)
        return
      }
      origin.activeRequests++
      origin.nextStartMs = now() + apartMs
      origin.queue.shift()?.()
    }
    if (isIdle(origin)) origins.delete(name)
  }

  /** Returns whether an origin can be removed, because it has no requests and no times in the future. */
  const isIdle = ({ activeRequests, queue, nextStartMs, lastBookedMs }: Origin) =>
    activeRequests === 0 && queue.length === 0 && Math.max(nextStartMs, lastBookedMs) <= now()

  const leave = (name: string, origin: Origin): void => {
    origin.activeRequests--
    admit(name, origin)
  }

  return {
    async enter(name, signal) {
      signal.throwIfAborted()
      const origin = find(name)
      await new Promise<void>((enter, refuse) => {
        const turn = () => {
          signal.removeEventListener('abort', stop)
          enter()
        }
        const stop = () => {
          origin.queue.splice(origin.queue.indexOf(turn), 1)
          admit(name, origin)
          refuse(signal.reason)
        }
        signal.addEventListener('abort', stop, { once: true })
        origin.queue.push(turn)
        admit(name, origin)
      })
      let hasLeft = false
      return () => {
        if (!hasLeft) leave(name, origin)
        hasLeft = true
      }
    },

    delayMs(name) {
      const origin = origins.get(name)
      if (origin === undefined) return 0
      const pause = Math.max(0, origin.nextStartMs - now())
      if (pause <= MAX_QUEUE_WAIT_MS && origin.activeRequests + origin.queue.length < maxConcurrent + MAX_QUEUED)
        return 0
      origin.lastBookedMs = Math.max(origin.lastBookedMs, now() + pause) + apartMs
      return origin.lastBookedMs - now()
    },

    pause(name, ms) {
      const origin = find(name)
      origin.nextStartMs = Math.max(origin.nextStartMs, now() + Math.min(ms, MAX_PAUSE_MS))
      admit(name, origin)
    },
  }
}
