import { BoundedMap } from '../../core/bounded-map.ts'
import type { Page } from '../../server/explorer/types.ts'

const PAGE_SIZE = 100
/** Maximum number of cached pages, for 1,600 items. Items that are no longer in the cache are requested again. */
const MAX_PAGES = 16
const MAX_REQUESTS = 2
const RETRY_MS = 3000

export type LoadPage<Item> = (offset: number, limit: number, signal: AbortSignal) => Promise<Page<Item>>

/**
 * A long list that is only partly visible. Requests only the visible pages, two at a time. Aborts requests for pages
 * that leave the view, and evicts the least recently viewed pages.
 */
export class Source<Item> {
  /** The total number of items; null until the first page is loaded. */
  total: number | null = null
  error: Error | null = null
  readonly #load: LoadPage<Item>
  readonly #pages = new BoundedMap<{ items: readonly Item[]; version: number }, number>(MAX_PAGES)
  readonly #requests = new Map<number, AbortController>()
  readonly #listeners = new Set<() => void>()
  #visiblePages: readonly number[] = [0]
  /** Incremented by each refresh. A page with an older version may be out of date. */
  #version = 0
  #retryTimer: ReturnType<typeof setTimeout> | undefined

  constructor(load: LoadPage<Item>) {
    this.#load = load
  }

  at(index: number): Item | undefined {
    return this.#pages.get(Math.floor(index / PAGE_SIZE))?.items[index % PAGE_SIZE]
  }

  /** Sets the visible range: items from `start` to `end` (exclusive). */
  want(start: number, end: number): void {
    const first = Math.floor(start / PAGE_SIZE)
    const last = Math.max(first, Math.floor((end - 1) / PAGE_SIZE))
    this.#visiblePages = Array.from({ length: last - first + 1 }, (_, index) => first + index)
    for (const [page, request] of this.#requests) {
      if (this.#visiblePages.includes(page)) continue
      request.abort()
      this.#requests.delete(page)
    }
    this.#fetchNext()
  }

  /** Marks the items as possibly out of date. They stay visible until they are reloaded. */
  refresh(): void {
    this.#version++
    this.error = null
    this.#fetchNext()
  }

  /**
   * Subscribes to changes. Nothing is requested without subscribers.
   *
   * @returns the function that unsubscribes
   */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    this.#fetchNext()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.#stop()
    }
  }

  #fetchNext(): void {
    if (this.#listeners.size === 0) return
    for (const page of this.#visiblePages) {
      if (this.#requests.size >= MAX_REQUESTS) return
      if (this.#requests.has(page)) continue
      if (this.#pages.get(page)?.version === this.#version) continue
      if (this.total !== null && page > 0 && page * PAGE_SIZE >= this.total) continue
      void this.#fetch(page)
    }
  }

  async #fetch(page: number): Promise<void> {
    const request = new AbortController()
    const version = this.#version
    this.#requests.set(page, request)
    try {
      const { total, items } = await this.#load(page * PAGE_SIZE, PAGE_SIZE, request.signal)
      if (request.signal.aborted) return
      this.#requests.delete(page)
      this.#pages.set(page, { items, version })
      this.total = total
      this.error = null
    } catch (error) {
      if (request.signal.aborted) return
      this.#requests.delete(page)
      this.error = error instanceof Error ? error : new Error(String(error))
      clearTimeout(this.#retryTimer)
      this.#retryTimer = setTimeout(() => this.#fetchNext(), RETRY_MS)
      this.#notifyListeners()
      return
    }
    this.#notifyListeners()
    this.#fetchNext()
  }

  #stop(): void {
    for (const request of this.#requests.values()) request.abort()
    this.#requests.clear()
    clearTimeout(this.#retryTimer)
  }

  #notifyListeners(): void {
    for (const listener of this.#listeners) listener()
  }
}
