/** Limits for requests to one origin, whose operator may not be prepared for requests for ten thousand files. */
export interface PaceLimits {
  /** Maximum number of concurrent transfers from one origin. */
  atOnce: number
  /** Milliseconds between the starts of two transfers. */
  apartMs: number
}

export const DEFAULT_PACE: PaceLimits = { atOnce: 6, apartMs: 20 }

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
  wait(origin: string): number
  /** Starts no further requests to an origin for this many milliseconds. */
  pause(origin: string, ms: number): void
}

interface Origin {
  active: number
  /** Time when the next request may start. */
  next: number
  queue: (() => void)[]
  /** The latest time that `wait` has assigned to a request. */
  booked: number
  timer: NodeJS.Timeout | undefined
}

/** Creates a pace that applies the limits to this process's requests to each origin. */
export function createPace({ atOnce, apartMs }: PaceLimits = DEFAULT_PACE, now = () => performance.now()): Pace {
  const origins = new Map<string, Origin>()

  const find = (name: string): Origin => {
    let origin = origins.get(name)
    if (origin === undefined) {
      if (origins.size >= MAX_IDLE_ORIGINS) forget()
      origin = { active: 0, next: 0, queue: [], booked: 0, timer: undefined }
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
    while (origin.queue.length > 0 && origin.active < atOnce) {
      const early = origin.next - now()
      if (early > 0) {
        origin.timer = setTimeout(() => admit(name, origin), early)
        return
      }
      origin.active++
      origin.next = now() + apartMs
      origin.queue.shift()?.()
    }
    if (isIdle(origin)) origins.delete(name)
  }

  /** Returns whether an origin can be removed, because it has no requests and no times in the future. */
  const isIdle = ({ active, queue, next, booked }: Origin) =>
    active === 0 && queue.length === 0 && Math.max(next, booked) <= now()

  const leave = (name: string, origin: Origin): void => {
    origin.active--
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

    wait(name) {
      const origin = origins.get(name)
      if (origin === undefined) return 0
      const pause = Math.max(0, origin.next - now())
      if (pause <= MAX_QUEUE_WAIT_MS && origin.active + origin.queue.length < atOnce + MAX_QUEUED) return 0
      origin.booked = Math.max(origin.booked, now() + pause) + apartMs
      return origin.booked - now()
    },

    pause(name, ms) {
      const origin = find(name)
      origin.next = Math.max(origin.next, now() + Math.min(ms, MAX_PAUSE_MS))
      admit(name, origin)
    },
  }
}
