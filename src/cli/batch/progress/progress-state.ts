import type { BatchEvent, RowCounts } from '../../../batch/types.ts'

/** The current phase of a run. Its times are on the same clock as the `now` arguments. */
export type Phase =
  | { kind: 'reading' }
  | { kind: 'uploading'; done: number; total: number }
  | { kind: 'looking_up'; done: number; total: number }
  | { kind: 'sending' }
  | {
      kind: 'held'
      reason: 'rate_limited' | 'not_ready' | 'max_cost' | 'unreachable' | 'unknown'
      until: number
      message: string
    }
  | { kind: 'reconciling'; step: 'waiting' | 'listing' | 'reading'; until: number; done: number; total: number }
  | { kind: 'waiting'; reason: string | null }
  | { kind: 'stopping'; why: 'signal' | 'time' }

/**
 * Period in milliseconds over which the rate is measured. The rate is known only after a minimum number of responses
 * and a minimum time.
 */
const RATE_WINDOW_MS = 60_000
const MIN_RATE_RESPONSES = 5
const MIN_RATE_SPAN_MS = 4_000
const MAX_STORED_RESPONSES = 512

/** Minimum wait in milliseconds that the display shows. Shorter waits are normal. */
const MIN_SHOWN_WAIT_MS = 2_000

/** Number of attempts without a response after which the server is shown as unreachable. */
const UNREACHABLE_AFTER_ATTEMPTS = 2

/** The state of a run that is known before its first event. */
export interface InitialProgress {
  name: string
  counts: RowCounts
}

/** The displayed state of a run, derived from its events. */
export class ProgressState {
  /**
   * The start time. If the display is stopped, for example for a prompt, the start time moves forward by the length of
   * the pause.
   */
  startedAt: number
  title: string | null = null
  counts: RowCounts | null = null
  #phase: Phase = { kind: 'reading' }
  #requests = 0
  #doneRequests = 0
  /** Requests with an unknown outcome. They are already counted as done, so their later responses aren't counted. */
  readonly #unknownRequests = new Set<number>()
  #responseTimes: number[] = []
  /** Consecutive attempts without a response. */
  #silentAttempts = 0

  constructor(now: number, knownProgress?: InitialProgress) {
    this.startedAt = now
    this.title = knownProgress?.name ?? null
    this.counts = knownProgress?.counts ?? null
  }

  handleEvent(event: BatchEvent, now: number): void {
    switch (event.type) {
      case 'planned':
        this.title = event.run.name
        this.counts = event.rows
        this.#requests = event.requests
        this.#enter({ kind: 'sending' })
        break
      case 'uploaded':
        this.#enter({ kind: 'uploading', done: event.done, total: event.files })
        break
      case 'looking_up':
        this.#enter({ kind: 'looking_up', done: event.done, total: event.total })
        break
      case 'sending':
        // Only a response shows that the server has recovered. A retry doesn't.
        if (this.#phase.kind !== 'held' || this.#phase.reason === 'unknown') this.#enter({ kind: 'sending' })
        break
      case 'answered':
        this.#handleResponse(event, now)
        break
      case 'holding': {
        const { reason, ms, message } = event
        if (ms >= MIN_SHOWN_WAIT_MS || reason === 'not_ready')
          this.#enter({ kind: 'held', reason, until: now + ms, message })
        break
      }
      case 'rows':
        this.counts = event.counts
        break
      case 'resized':
        this.#requests = Math.max(this.#requests, this.#doneRequests + Math.ceil(this.#pending / event.chunkSize))
        break
      case 'reconciling': {
        const { phase, ms, done, total } = event
        this.#enter({ kind: 'reconciling', step: phase, until: now + ms, done, total })
        break
      }
      case 'reconciled':
        break
      case 'waiting':
        this.#enter({ kind: 'waiting', reason: event.reason ?? null })
    }
  }

  /** Marks the run as stopping because of a signal or its --timeout. Later events don't change the phase. */
  stop(why: 'signal' | 'time'): void {
    this.#phase = { kind: 'stopping', why }
  }

  phase(now: number): Phase {
    const phase = this.#phase
    return phase.kind === 'held' && phase.reason === 'rate_limited' && now >= phase.until ? { kind: 'sending' } : phase
  }

  /**
   * Returns the responses per second over the last minute; null if there are too few responses or nothing is left to
   * send.
   */
  rate(now: number): number | null {
    if (this.#pending === 0) return null
    const recent = this.#responseTimes.filter((at) => now - at <= RATE_WINDOW_MS)
    const [first] = recent
    if (first === undefined || recent.length < MIN_RATE_RESPONSES || now - first < MIN_RATE_SPAN_MS) return null
    return ((recent.length - 1) * 1000) / (now - first)
  }

  /** Returns the estimated time for the remaining requests at the current rate; null if unknown. */
  millisecondsLeft(now: number): number | null {
    const rate = this.rate(now)
    const remaining = Math.max(0, this.#requests - this.#doneRequests)
    return rate === null || remaining === 0 ? null : (remaining * 1000) / rate
  }

  get #pending(): number {
    return this.counts?.pending ?? 0
  }

  #enter(phase: Phase): void {
    if (this.#phase.kind !== 'stopping') this.#phase = phase
  }

  #handleResponse(event: Extract<BatchEvent, { type: 'answered' }>, now: number): void {
    const { request, outcome, status, message } = event
    if (outcome !== 'no_effect') {
      this.#responseTimes.push(now)
      if (this.#responseTimes.length > 2 * MAX_STORED_RESPONSES)
        this.#responseTimes = this.#responseTimes.slice(-MAX_STORED_RESPONSES)
      if (!this.#unknownRequests.has(request)) this.#doneRequests = Math.min(this.#requests, this.#doneRequests + 1)
      if (outcome === 'unknown') this.#unknownRequests.add(request)
    }
    this.#silentAttempts = status === null ? this.#silentAttempts + 1 : 0
    if (this.#silentAttempts >= UNREACHABLE_AFTER_ATTEMPTS) {
      this.#enter({ kind: 'held', reason: 'unreachable', until: now, message: message ?? 'no response' })
    } else if (status !== null && this.#phase.kind === 'held' && this.#phase.reason !== 'rate_limited') {
      // Even if the server responds again, the run is still waiting until the server accepts or refuses a request.
      const isWaiting = this.#phase.reason === 'not_ready' || this.#phase.reason === 'max_cost'
      if (!isWaiting || outcome !== 'no_effect') this.#enter({ kind: 'sending' })
    }
  }
}
