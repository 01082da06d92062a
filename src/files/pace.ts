/** How hard one origin is asked: it belongs to somebody who may not know of a drop of ten thousand files. */
export interface PaceLimits {
  /** Transfers of one origin that run at the same time. */
  atOnce: number
  /** Milliseconds between the starts of two of them. */
  apartMs: number
}

export const DEFAULT_PACE: PaceLimits = { atOnce: 6, apartMs: 20 }

/** The most that an origin may have itself left alone for. */
const LONGEST_PAUSE_MS = 5 * 60_000

/** A wait so short is better spent in the queue of an origin than by coming again. */
const SHORT_MS = 250

/** How many may spend it there. */
const IN_QUEUE = 2

/** So many origins, and it is looked which of them have nothing more to be known of. */
const MANY = 1000

export interface Pace {
  /**
   * Resolves when a request to this origin may leave, with what to call when its transfer is over. First come, first
   * served.
   *
   * @throws the signal's reason once it is aborted
   */
  enter(origin: string, signal: AbortSignal): Promise<() => void>
  /**
   * When somebody who asks now had better come: 0 for at once, else milliseconds. Thousands are told different times,
   * as far apart as if each found a place then. Of a slow origin many don't, and are told another: reckoning with how
   * long transfers take was tried, and after a slow start left origins idle that had become quick.
   */
  wait(origin: string): number
  /** Nobody enters for so long. */
  pause(origin: string, ms: number): void
}

interface Origin {
  active: number
  /** When the next may start. */
  next: number
  queue: (() => void)[]
  /** Up to when newcomers were told to come. */
  booked: number
  timer: NodeJS.Timeout | undefined
}

/** A pace for each origin, in this process. */
export function createPace({ atOnce, apartMs }: PaceLimits = DEFAULT_PACE, now = () => performance.now()): Pace {
  const origins = new Map<string, Origin>()

  const find = (name: string): Origin => {
    let origin = origins.get(name)
    if (origin === undefined) {
      if (origins.size >= MANY) forget()
      origin = { active: 0, next: 0, queue: [], booked: 0, timer: undefined }
      origins.set(name, origin)
    }
    return origin
  }

  const forget = () => {
    for (const [name, origin] of origins) if (isIdle(origin)) origins.delete(name)
  }

  /** Lets in whoever may go, and comes again when the next one may. */
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

  /** Nothing more to know about it. */
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
      let left = false
      return () => {
        if (!left) leave(name, origin)
        left = true
      }
    },

    wait(name) {
      const origin = origins.get(name)
      if (origin === undefined) return 0
      const pause = Math.max(0, origin.next - now())
      if (pause <= SHORT_MS && origin.active + origin.queue.length < atOnce + IN_QUEUE) return 0
      origin.booked = Math.max(origin.booked, now() + pause) + apartMs
      return origin.booked - now()
    },

    pause(name, ms) {
      const origin = find(name)
      origin.next = Math.max(origin.next, now() + Math.min(ms, LONGEST_PAUSE_MS))
      admit(name, origin)
    },
  }
}
