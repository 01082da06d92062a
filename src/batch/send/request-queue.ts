import type { RequestPlan } from '../request-plan.ts'

/** Rows of a planned request that are sent together: all rows, or a part if the server rejects that many. */
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

  /** Returns the next part, with at most this number of rows. */
  take(most: number): RequestPart {
    const request = this.#next
    const part = this.#first.shift() ?? { request, from: 0, size: this.#plan.rowsOf(this.#next++).length }
    const size = Math.min(part.size, most)
    if (size < part.size) this.#first.unshift({ ...part, from: part.from + size, size: part.size - size })
    return { ...part, size }
  }

  /** Puts a part back at the front, and joins it with the next part of the same request if that part isn't sent yet. */
  putBack(part: RequestPart): void {
    const [next] = this.#first
    const isRest = next !== undefined && next.request === part.request && next.from === part.from + part.size
    if (isRest) this.#first.shift()
    this.#first.unshift(isRest ? { ...part, size: part.size + next.size } : part)
  }
}
