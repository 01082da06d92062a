import { UNKNOWN } from '../../client/outcome.ts'
import type { Now } from '../../core/time.ts'
import { MAX_IN_DOUBT, mayRetry, type Retries, waitBefore } from '../../operations/retries.ts'

/** A request with an unknown outcome that will be repeated. */
export interface Repetition {
  id: number
  attempts: number
  /** Time when the server was last known to work on the request. */
  since: number
}

/** Schedules requests with an unknown outcome, if the server ensures that a repetition takes effect only once. */
export class Repetitions {
  readonly #now: Now
  readonly #retries: Retries
  #waiting: (Repetition & { notBefore: number })[] = []

  constructor(now: Now, retries: Retries) {
    this.#now = now
    this.#retries = { ...retries, most: MAX_IN_DOUBT }
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  /** Milliseconds until the next request is due, at least 1. */
  get waitMs(): number {
    return Math.max(1, Math.min(...this.#waiting.map(({ notBefore }) => notBefore)) - this.#now())
  }

  /** Removes and returns a request that is due. */
  takeDue(): Repetition | undefined {
    const due = this.#waiting.find(({ notBefore }) => notBefore <= this.#now())
    this.#waiting = this.#waiting.filter((one) => one !== due)
    return due
  }

  /** Schedules a request, unless it has been repeated for long enough. Returns the milliseconds until it is due. */
  add({ id, attempts, since = this.#now() }: Omit<Repetition, 'since'> & { since?: number }): number {
    const now = this.#now()
    const ms = attempts === 0 ? 0 : waitBefore(this.#retries, UNKNOWN, attempts)
    if (mayRetry(this.#retries, UNKNOWN, attempts, now - since)) {
      this.#waiting.push({ id, attempts, since, notBefore: now + ms })
    }
    return ms
  }
}
