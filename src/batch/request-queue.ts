/** Rows of a planned request that are sent together: all of them, unless the server refuses so many. */
export interface RequestPart {
  request: number
  from: number
  size: number
}

/** What remains to be sent, in order: planned requests, whole or in pieces. */
export class RequestQueue {
  readonly #plan: { readonly requests: number; size(request: number): number }
  /** RequestQueue that are sent before the next planned request. */
  readonly #first: RequestPart[] = []
  #next = 0

  constructor(plan: { readonly requests: number; size(request: number): number }) {
    this.#plan = plan
  }

  get hasMore(): boolean {
    return this.#first.length > 0 || this.#next < this.#plan.requests
  }

  /** Returns the next piece, with at most this number of rows. */
  take(most: number): RequestPart {
    const request = this.#next
    const piece = this.#first.shift() ?? { request, from: 0, size: this.#plan.size(this.#next++) }
    const size = Math.min(piece.size, most)
    if (size < piece.size) this.#first.unshift({ ...piece, from: piece.from + size, size: piece.size - size })
    return { ...piece, size }
  }

  /** Puts a piece first, joined with the pieces that it was split from if they still wait. */
  putBack(piece: RequestPart): void {
    const [next] = this.#first
    const isRest = next !== undefined && next.request === piece.request && next.from === piece.from + piece.size
    if (isRest) this.#first.shift()
    this.#first.unshift(isRest ? { ...piece, size: piece.size + next.size } : piece)
  }
}
