import type { BatchEvent, RowCounts } from '../../../batch/types.ts'

/** What a run is doing. Times are on the clock that the events were told on. */
export type Phase =
  | { kind: 'reading' }
  | { kind: 'uploading'; done: number; total: number }
  | { kind: 'looking_up'; done: number; total: number }
  | { kind: 'sending' }
  | { kind: 'held'; reason: 'rate_limited' | 'unreachable' | 'unknown' | 'claim'; until: number; message: string }
  | { kind: 'reconciling'; step: 'waiting' | 'listing' | 'reading'; until: number; done: number; total: number }
  | { kind: 'waiting' }
  | { kind: 'stopping' }

/** The pace is that of the last minute, and is told once there were this many answers in this time. */
const WINDOW_MS = 60_000
const ENOUGH_ANSWERS = 5
const ENOUGH_MS = 4_000
const MOST_ANSWERS = 512

/** A hold shorter than this is the normal run of things. */
const SHORT_HOLD_MS = 2_000

/** So many attempts without any answer, and it isn't the single request's fault. */
const AWAY_AFTER = 2

/** What is known of a run before it tells anything. */
export interface Known {
  name: string
  counts: RowCounts
}

/** What is shown of a run, folded from what it tells. */
export class ProgressState {
  readonly startedAt: number
  title: string | null = null
  counts: RowCounts | null = null
  #phase: Phase = { kind: 'reading' }
  #requests = 0
  #done = 0
  /** Requests of unknown outcome: their later answers are no further progress. */
  readonly #unknown = new Set<number>()
  #answers: number[] = []
  /** Attempts in a row that nobody answered. */
  #silent = 0

  constructor(now: number, known?: Known) {
    this.startedAt = now
    this.title = known?.name ?? null
    this.counts = known?.counts ?? null
  }

  tell(event: BatchEvent, now: number): void {
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
        // Trying again doesn't mean that the server is back; its answer does.
        if (this.#phase.kind !== 'held' || this.#phase.reason === 'unknown') this.#enter({ kind: 'sending' })
        break
      case 'answered':
        this.#answered(event, now)
        break
      case 'holding': {
        const { reason, ms, message } = event
        if (ms >= SHORT_HOLD_MS) this.#enter({ kind: 'held', reason, until: now + ms, message })
        break
      }
      case 'rows':
        this.counts = event.counts
        break
      case 'resized':
        this.#requests = Math.max(this.#requests, this.#done + Math.ceil(this.#pending / event.chunkSize))
        break
      case 'reconciling': {
        const { phase, ms, done, total } = event
        this.#enter({ kind: 'reconciling', step: phase, until: now + ms, done, total })
        break
      }
      case 'reconciled':
        break
      case 'waiting':
        this.#enter({ kind: 'waiting' })
    }
  }

  /** The run was asked to stop: whatever it does now, it is on its way out. */
  stop(): void {
    this.#phase = { kind: 'stopping' }
  }

  phase(now: number): Phase {
    const phase = this.#phase
    return phase.kind === 'held' && phase.reason === 'rate_limited' && now >= phase.until ? { kind: 'sending' } : phase
  }

  /** Requests answered a second over the last minute; null until there is enough to say, and once all was sent. */
  rate(now: number): number | null {
    if (this.#pending === 0) return null
    const recent = this.#answers.filter((at) => now - at <= WINDOW_MS)
    const [first] = recent
    if (first === undefined || recent.length < ENOUGH_ANSWERS || now - first < ENOUGH_MS) return null
    return ((recent.length - 1) * 1000) / (now - first)
  }

  /** How long the requests that are left take at that pace. */
  millisecondsLeft(now: number): number | null {
    const rate = this.rate(now)
    const left = Math.max(0, this.#requests - this.#done)
    return rate === null || left === 0 ? null : (left * 1000) / rate
  }

  get #pending(): number {
    return this.counts?.pending ?? 0
  }

  #enter(phase: Phase): void {
    if (this.#phase.kind !== 'stopping') this.#phase = phase
  }

  #answered(event: Extract<BatchEvent, { type: 'answered' }>, now: number): void {
    const { request, outcome, status, message } = event
    if (outcome !== 'no_effect') {
      this.#answers.push(now)
      if (this.#answers.length > 2 * MOST_ANSWERS) this.#answers = this.#answers.slice(-MOST_ANSWERS)
      if (!this.#unknown.has(request)) this.#done = Math.min(this.#requests, this.#done + 1)
      if (outcome === 'unknown') this.#unknown.add(request)
    }
    this.#silent = status === null ? this.#silent + 1 : 0
    if (this.#silent >= AWAY_AFTER) {
      this.#enter({ kind: 'held', reason: 'unreachable', until: now, message: message ?? 'no answer' })
    } else if (status !== null && this.#phase.kind === 'held' && this.#phase.reason !== 'rate_limited') {
      this.#enter({ kind: 'sending' })
    }
  }
}
