import { randomUUID } from 'node:crypto'
import { selectRunReason } from '../../api/finality-reason.ts'
import type { RunLimit } from '../../client/run-limit.ts'
import { GdnError } from '../../core/errors.ts'
import { type Now, sleep } from '../../core/time.ts'
import { isTimeUp } from '../../core/time-up.ts'
import type { RecordSource } from '../../operations/reconcile/listing.ts'
import type { BatchClient, BatchDeps, BatchEvent, BatchOptions, BatchPacer, BatchSummary } from '../types.ts'
import type { StoredRun } from './stored-run.ts'

export type StopReason = NonNullable<BatchSummary['stopped']>

/**
 * The state of a run that is shared by sending, uploading and waiting, such as the database, the clock and the stop
 * signal.
 */
export class RunContext {
  readonly options: BatchOptions
  readonly client: BatchClient
  readonly pacer: BatchPacer
  readonly run: StoredRun
  readonly limit: RunLimit
  readonly now: Now
  readonly newKey: () => string
  readonly emit: (event: BatchEvent) => void
  stopReason: StopReason | null = null
  /** Time when this call began, and time when a request's outcome last became unknown, by the monotonic clock. */
  readonly startedAt: number
  unknownAt: number
  /** Requests with an unknown outcome whose repetition the server rejected. */
  readonly rejectedRepetitions = new Set<number>()
  /** Time when each request of this call was accepted, by the request's ID in the database. */
  readonly acceptedAt = new Map<number, number>()
  readonly #sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  readonly #deps: Pick<BatchDeps, 'shortage' | 'sufficientLimit'>
  readonly #halt = new AbortController()
  /** The reason why requests are paused, or null if they aren't paused. */
  holdReason: string | null = null
  readonly #interrupt = () => {
    const reason: unknown = this.options.signal?.reason
    this.stop(isTimeUp(reason) ? timeoutError(reason, this.holdReason) : interruptionError(reason))
  }

  constructor(options: BatchOptions, deps: BatchDeps, run: StoredRun, limit: RunLimit = { run: run.id }) {
    this.options = options
    this.limit = limit
    this.run = run
    this.client = deps.client
    this.pacer = deps.pacer
    this.now = deps.now ?? (() => performance.now())
    this.#sleep = deps.sleep ?? sleep
    this.#deps = deps
    this.startedAt = this.now()
    // For outcomes that an earlier call left unknown, use the start time of this call. Their recorded times aren't
    // reliable, because the wall clock may have changed since then.
    this.unknownAt = this.startedAt
    this.newKey = deps.newKey ?? randomUUID
    this.emit = deps.onEvent ?? (() => {})
    options.signal?.addEventListener('abort', this.#interrupt, { once: true })
    if (options.signal?.aborted === true) this.#interrupt()
  }

  /** Signal that is aborted when the run must stop. After that, no further work is started, and all waiting ends. */
  get halt(): AbortSignal {
    return this.#halt.signal
  }

  /**
   * Returns whether the server ensures that each further request takes effect only once, regardless of how often the
   * request is sent.
   */
  get isRepetitionSafe(): boolean {
    return this.client.supports('idempotency') === true || this.client.supports('references') === true
  }

  get source(): RecordSource {
    return { client: this.client, signal: this.halt }
  }

  /** Stops the run with an error. Later calls have no effect. */
  stop(error: GdnError): void {
    this.stopReason ??= { code: error.code, message: error.message, hint: error.hint ?? null }
    this.#halt.abort(error)
  }

  /**
   * Returns why the server currently doesn't sign or accept requests of the run. Returns `last` if the call fails, and
   * null for a run without a limit.
   */
  async readWaitReason(last: string | null): Promise<string | null> {
    const { counts, drop } = this.run
    if (drop.maxCost === null && drop.maxFee === null) return null
    try {
      const { costs } = await this.client.call('getruncosts', { run: this.run.id }, { signal: this.halt })
      return selectRunReason(costs.waiting, counts.pending + counts.unknown > 0)
    } catch (error) {
      if (!(error instanceof GdnError)) throw error
      return last
    }
  }

  /**
   * Returns why requests are paused.
   *
   * @param response the reason in the server's response, which may be incomplete
   */
  async readHoldReason(cause: 'rate_limited' | 'not_ready' | 'max_cost', response: string): Promise<string> {
    if (cause === 'not_ready') return (await this.#deps.shortage?.()) ?? response
    if (cause !== 'max_cost') return response
    const reason = (await this.readWaitReason(null)) ?? response
    const enough = await this.#deps.sufficientLimit?.()
    return enough == null
      ? reason
      : `${reason}; --max-cost ${enough} or more is enough for all rows at the current fees`
  }

  /** Waits for `ms` milliseconds. Returns false if the run is stopped first. */
  async pause(ms: number): Promise<boolean> {
    return (await this.#unlessHalted(this.#sleep(ms, this.halt).then(() => true))) ?? false
  }

  /** Waits for permission to send. Returns null if the run is stopped first. */
  acquireSlot(endpoint: Parameters<BatchPacer['take']>[0]): Promise<{ done(): void } | null> {
    return this.#unlessHalted(this.pacer.take(endpoint, this.halt), (slot) => slot.done())
  }

  /** Calls a function after a delay, unless the signal is aborted first. The delay continues even if the run stops. */
  schedule(ms: number, signal: AbortSignal, callback: () => void): void {
    this.#sleep(ms, signal).then(callback, () => {})
  }

  emitRows(): void {
    this.emit({ type: 'rows', counts: { ...this.run.counts } })
  }

  close(): void {
    this.options.signal?.removeEventListener('abort', this.#interrupt)
  }

  async #unlessHalted<Value>(promise: Promise<Value>, giveBack?: (value: Value) => void): Promise<Value | null> {
    try {
      const value = await promise
      if (!this.halt.aborted) return value
      giveBack?.(value)
      return null
    } catch (error) {
      if (this.halt.aborted) return null
      throw error
    }
  }
}

/** Returns the error for an expired timeout while rows are not yet sent or deployed. */
const timeoutError = ({ message }: GdnError, holdReason: string | null): GdnError =>
  new GdnError('pending', holdReason === null ? message : `${message}: ${holdReason}`)

export function interruptionError(reason: unknown): GdnError {
  return reason instanceof GdnError
    ? reason
    : new GdnError('interrupted', 'interrupted', { hint: 'Run the same command again to resume.' })
}
