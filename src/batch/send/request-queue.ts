import { UNKNOWN_OUTCOME } from '../../client/outcome.ts'
import type { Now } from '../../core/time.ts'
import { computeRetryDelayMs, MAX_IN_DOUBT_ATTEMPTS, mayRetry, type Retries } from '../../operations/retries.ts'
import type { RequestPlan } from '../request-plan.ts'

/**
 * The rows of a planned request that are sent together. The part contains all rows of the request, or fewer, for
 * example if the server rejects requests with that many rows.
 */
export interface RequestPart {
  request: number
  from: number
  size: number
}

/** The planned requests that are not sent yet, in order. Requests may be split into parts. */
export class RequestQueue {
  readonly #plan: Pick<RequestPlan, 'requests' | 'rowsOf'>
  /** Parts that are sent before the next planned request. */
  readonly #first: RequestPart[] = []
  #next = 0

  constructor(plan: Pick<RequestPlan, 'requests' | 'rowsOf'>) {
    this.#plan = plan
  }

  get hasMore(): boolean {
    return this.#first.length > 0 || this.#next < this.#plan.requests
  }

  /** Returns the next part, with at most `most` rows. */
  take(most: number): RequestPart {
    const request = this.#next
    const part = this.#first.shift() ?? { request, from: 0, size: this.#plan.rowsOf(this.#next++).length }
    const size = Math.min(part.size, most)
    if (size < part.size) this.#first.unshift({ ...part, from: part.from + size, size: part.size - size })
    return { ...part, size }
  }

  /**
   * Puts a part back at the front, and joins it with the next part of the same request if that part isn't sent yet.
   *
   * @param fits number of rows of the part to send first, in a separate request
   */
  putBack(part: RequestPart, fits = 0): void {
    const rest = { ...part, from: part.from + fits, size: part.size - fits }
    const [next] = this.#first
    const isJoined = next !== undefined && next.request === rest.request && next.from === rest.from + rest.size
    if (isJoined) this.#first.shift()
    this.#first.unshift(isJoined ? { ...rest, size: rest.size + next.size } : rest)
    if (fits > 0) this.#first.unshift({ ...part, size: fits })
  }
}

/** A request with an unknown outcome that will be repeated. */
export interface Repetition {
  id: number
  attempts: number
  /** Time when the server was last known to be working on the request. */
  since: number
}

/**
 * Schedules the repetitions of requests with an unknown outcome. The server must ensure that a repetition takes effect
 * only once.
 */
export class Repetitions {
  readonly #now: Now
  readonly #retries: Retries
  #waiting: (Repetition & { notBefore: number })[] = []

  constructor(now: Now, retries: Retries) {
    this.#now = now
    this.#retries = { ...retries, maxAttempts: MAX_IN_DOUBT_ATTEMPTS }
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
    const dueRepetition = this.#waiting.find(({ notBefore }) => notBefore <= this.#now())
    this.#waiting = this.#waiting.filter((repetition) => repetition !== dueRepetition)
    return dueRepetition
  }

  /**
   * Schedules a request, unless it has reached the maximum time or number of attempts. Returns the time until the
   * request is due, in milliseconds.
   */
  add({ id, attempts, since = this.#now() }: Omit<Repetition, 'since'> & { since?: number }): number {
    const now = this.#now()
    const ms = attempts === 0 ? 0 : computeRetryDelayMs(this.#retries, UNKNOWN_OUTCOME, attempts)
    if (mayRetry(this.#retries, UNKNOWN_OUTCOME, attempts, now - since)) {
      this.#waiting.push({ id, attempts, since, notBefore: now + ms })
    }
    return ms
  }
}
