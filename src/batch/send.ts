import { GdnError } from '../core/errors.ts'
import { UNREACHABLE_MS } from '../operations/defaults.ts'
import { hasMeans, isRepeatable } from '../operations/repeatable.ts'
import { updateDrop } from '../state/drops.ts'
import { type RowRequest, readRowRequest, requestsWith, rowsOfRequest } from '../state/row-requests.ts'
import {
  acceptRows,
  beginSending,
  doubtRows,
  forgetRequest,
  type NewRequest,
  noEffectOfRows,
  refuseRows,
  sendRows,
} from '../state/send-rows.ts'
import { Attempts, type Job } from './attempts.ts'
import type { Verdict } from './classify.ts'
import { stoppedByLabel } from './other-labels.ts'
import { type RequestPart, RequestQueue } from './request-queue.ts'
import type { RunContext } from './run-context.ts'
import type { RunStore } from './run-store.ts'
import { backoff, ServerHealth } from './server-health.ts'
import type { MintEndpoint } from './types.ts'

/** What remains to be sent: the planned requests, built one at a time. */
export interface Outbox {
  readonly requests: number
  /** The number of rows of a planned request. */
  size(request: number): number
  /** Builds a request from some of its rows. */
  build(piece: RequestPart): Promise<Omit<NewRequest, 'key' | 'honorsKey'>>
}

/** A request of unknown outcome that waits to be repeated, where the server makes a repetition take effect once. */
interface Retry {
  id: number
  n: number
  attempts: number
  notBefore: number
  since: number
}

const DEFAULT_IN_FLIGHT = 2
const MAX_ATTEMPTS = 100
const MAX_RATE_LIMITED_MS = 600_000
/** Longer than any network takes until blocks are final. */
const MAX_COST_WAIT_MS = 3_600_000
const DEFAULT_HOLD_MS = 1_000

/**
 * Sends what is planned, a few requests at a time, and retries requests that are known to have had no effect. A request
 * of unknown outcome is repeated only with its key, where the server has said that it honors keys. Every request is
 * committed before its first byte leaves.
 */
export class Sender {
  requests = 0
  readonly #context: RunContext
  readonly #outbox: Outbox
  readonly #retries: Retry[] = []
  readonly #unreachableMs: number
  readonly #inOrder: boolean
  readonly #aside: () => void
  readonly #attempts: Attempts
  readonly #health: ServerHealth
  readonly #pieces: RequestQueue
  #trial: Promise<void> = Promise.resolve()

  /** @param aside called after each response, when there may be time for other work */
  constructor(context: RunContext, outbox: Outbox, inOrder: boolean, { aside }: { aside(): void }) {
    this.#context = context
    this.#outbox = outbox
    this.#pieces = new RequestQueue(outbox)
    this.#inOrder = inOrder
    this.#aside = aside
    this.#attempts = new Attempts(context)
    this.#unreachableMs = context.options.unreachableMs ?? UNREACHABLE_MS
    this.#health = new ServerHealth(context, this.#unreachableMs)
  }

  get attempts(): number {
    return this.#attempts.count
  }

  /** Resolves when everything has an outcome or is parked, or the run was stopped. */
  async run(): Promise<void> {
    for (const request of await resendable(this.#context.store)) this.#retryLater(request, 0)
    if (!(await this.#learn())) return
    // Two requests in flight may be processed in either order.
    const count = this.#inOrder ? 1 : (this.#context.options.inFlight ?? DEFAULT_IN_FLIGHT)
    const workers = Array.from({ length: count }, () => this.#work())
    const results = await Promise.allSettled(workers)
    const failure = results.find((result) => result.status === 'rejected')
    if (failure !== undefined) throw failure.reason
  }

  async #work(): Promise<void> {
    try {
      for (;;) {
        const job = await this.#nextJob()
        if (job === null) return
        await job()
      }
    } catch (error) {
      // Requests in flight still get their responses recorded. Nothing new is started.
      this.#context.stop(error instanceof GdnError ? error : new GdnError('unexpected', String(error)))
      throw error
    }
  }

  async #nextJob(): Promise<(() => Promise<void>) | null> {
    const { halt, now } = this.#context
    while (!halt.aborted) {
      const retry = this.#retries.find(({ notBefore }) => notBefore <= now())
      if (retry !== undefined) {
        this.#retries.splice(this.#retries.indexOf(retry), 1)
        return () => this.#sendAgain(retry)
      }
      // While the server is unreachable, the requests in flight are enough to notice when it recovers.
      const blocked = this.#retries.length > 0 && (this.#inOrder || this.#health.isFailing)
      if (this.#pieces.hasMore && !blocked) {
        if (this.#health.isSuspicious) return () => this.#tryOne()
        const piece = this.#nextPiece(Number.POSITIVE_INFINITY)
        return () => this.#sendFirst(piece)
      }
      if (this.#retries.length === 0) return null
      const wait = Math.min(...this.#retries.map(({ notBefore }) => notBefore)) - now()
      await this.#context.pause(Math.max(1, wait))
    }
    return null
  }

  /**
   * Learns how the server makes a repetition take effect once, because requests are built and committed accordingly.
   * Returns false if the server didn't respond, or the run was stopped.
   */
  async #learn(): Promise<boolean> {
    const { client, halt, now, emit } = this.#context
    const began = now()
    for (let attempt = 1; this.#pieces.hasMore && client.supportsIdempotency() === null; attempt++) {
      try {
        if ((await client.learnIdempotency({ signal: halt })) !== null) break
      } catch (error) {
        if (!(error instanceof GdnError)) throw error
        this.#context.stop(error)
      }
      if (!halt.aborted && now() - began > this.#unreachableMs) {
        this.#context.stop(new GdnError('unreachable', 'the server does not respond', { hint: AGAIN }))
      }
      const ms = backoff(attempt)
      if (!halt.aborted) emit({ type: 'holding', reason: 'unreachable', ms, message: 'the server does not respond' })
      if (!(await this.#context.pause(ms))) return false
    }
    return !halt.aborted
  }

  /** No larger than the server accepts, or than the options ask for. */
  #nextPiece(most: number): RequestPart {
    return this.#pieces.take(Math.min(most, this.#context.store.drop.largest ?? most))
  }

  /** Sends one row at a time, each after the server responded to a query, until it accepts one. */
  #tryOne(): Promise<void> {
    const mine = this.#trial.then(async () => {
      if (!this.#health.isSuspicious) return
      if ((await this.#health.answersAgain()) && this.#pieces.hasMore) await this.#sendFirst(this.#nextPiece(1))
    })
    this.#trial = mine.catch(() => {})
    return mine
  }

  async #sendFirst(piece: RequestPart): Promise<void> {
    const { store, take, newKey } = this.#context
    const honorsKey = this.#context.client.supportsIdempotency()
    const request = { ...(await this.#outbox.build(piece)), key: newKey(), honorsKey }
    const slot = await take.call(this.#context, request.endpoint)
    if (slot === null) return
    // Committed before a byte leaves: after a kill from here on, the next start knows that the outcome is unknown.
    const { id, n } = await unlessFailed(slot, () =>
      store.write((sql) => sendRows(sql, store.drop, request, Date.now())),
    )
    this.requests++
    const job = { ...request, id, n, rows: request.rows.length }
    if ((await this.#untilOutcome(job, slot)) === 'too_large') this.#pieces.putBack(piece)
  }

  /**
   * Makes one attempt, and more as long as each is known to have had no effect. `too_large`: the server accepts no
   * request of so many rows, so they are sent in smaller ones.
   */
  async #untilOutcome(job: Job, first: { done(): void }): Promise<'too_large' | 'known'> {
    const context = this.#context
    const began = context.now()
    let slot: { done(): void } | null = first
    for (let attempt = 1; slot !== null; attempt++) {
      const verdict = await this.#attempts.make(job, slot, attempt)
      await this.#recordAnswer(job, verdict, 'pending')
      if (verdict.outcome === 'unknown') this.#afterUnknown(job, verdict)
      if (verdict.outcome !== 'no_effect') return 'known'
      const mayRepeat = this.#mayRepeat(verdict, context.now() - began)
      if (mayRepeat && (await this.#hold(job.endpoint, verdict, attempt))) slot = await context.take(job.endpoint)
      else slot = null
      if (slot !== null) {
        const store = context.store
        await unlessFailed(slot, () => store.write((sql) => beginSending(sql, job.id, Date.now())))
        continue
      }
      await this.#forget(job, verdict)
      if (verdict.cause === 'too_large') return 'too_large'
    }
    return 'known'
  }

  /** Records that a request was never sent, if it had no effect and isn't sent again unchanged. */
  async #forget({ id, rows }: Job, verdict: Verdict): Promise<void> {
    const { store, emit } = this.#context
    const isTooLarge = verdict.outcome === 'no_effect' && verdict.cause === 'too_large'
    const largest = isTooLarge ? Math.min(store.drop.largest ?? rows, halfOf(rows)) : null
    await store.write((sql) => {
      forgetRequest(sql, id)
      if (largest !== null) updateDrop(sql, store.id, { largest })
    })
    if (largest === null || verdict.outcome === 'accepted') return
    store.drop = { ...store.drop, largest }
    emit({ type: 'resized', chunkSize: largest, message: verdict.message })
  }

  /** Repeats the stored bytes of an unknown request. Only success changes its recorded outcome. */
  async #sendAgain(retry: Retry): Promise<void> {
    const context = this.#context
    const { store } = context
    const { id, n } = retry
    const job = await store.read((sql) => ({
      ...readRowRequest(sql, id),
      rows: rowsOfRequest(sql, store.drop, id).length,
    }))
    const { endpoint } = job
    const attempts = retry.attempts + 1
    const mayRepeat = await isRepeatable(context.client, job, { signal: context.halt, refresh: true })
    if (mayRepeat === null) return this.#retryAgain({ ...retry, attempts })
    const slot = mayRepeat ? await context.take(endpoint) : null
    if (slot === null) return
    const verdict = await this.#attempts.make(job, slot, attempts)
    if (verdict.outcome === 'accepted') return await this.#recordAnswer(job, verdict, 'unknown')
    const isRelabeled = verdict.outcome === 'no_effect' && verdict.cause === 'other_label'
    const passing = !isRelabeled && (verdict.outcome === 'unknown' || verdict.outcome === 'no_effect')
    this.#emitAnswer(job, { ...verdict, outcome: 'unknown' })
    if (!passing || (verdict.outcome === 'no_effect' && !this.#mayRepeat(verdict, 0))) {
      context.notResolved.add(id)
      return
    }
    const isNotNow = verdict.outcome === 'no_effect' && NOT_NOW.has(verdict.cause)
    if (isNotNow) await this.#hold(endpoint, verdict, attempts)
    // Busy is a response: the server is reachable, and the first attempt is in progress. 429 is one too.
    const alive = verdict.outcome === 'unknown' ? verdict.busy : isNotNow
    this.#retryAgain({ id, n, attempts, since: alive ? context.now() : retry.since })
  }

  #retryAgain(retry: Omit<Retry, 'notBefore'>): void {
    const now = this.#context.now()
    if (retry.attempts >= MAX_ATTEMPTS || now - retry.since > this.#unreachableMs) return
    this.#retries.push({ ...retry, notBefore: now + backoff(retry.attempts) })
  }

  async #recordAnswer(job: Job, verdict: Verdict, was: 'pending' | 'unknown'): Promise<void> {
    const { store } = this.#context
    const now = Date.now()
    await store.write((sql) => {
      switch (verdict.outcome) {
        case 'accepted':
          return acceptRows(sql, job.id, verdict.ids, { now })
        case 'refused':
          return refuseRows(sql, job.id, verdict.message, now)
        case 'unknown':
          return doubtRows(sql, store.id, job.id, `the outcome is unknown: ${verdict.message}`, now)
        case 'no_effect':
          return noEffectOfRows(sql, job.id, now)
      }
    })
    this.#attempts.recorded(verdict)
    if (verdict.outcome === 'accepted') this.#context.heldFor = null
    if (verdict.outcome !== 'no_effect') {
      store.moved(was, verdict.outcome === 'refused' ? 'failed' : verdict.outcome, job.rows)
    }
    this.#emitAnswer(job, verdict)
    this.#aside()
    this.#health.note(verdict)
  }

  #emitAnswer(job: Job, verdict: Pick<Verdict, 'outcome' | 'status'> & { message?: string }): void {
    const { outcome, status, message = null } = verdict
    this.#context.emit({ type: 'answered', request: job.n, rows: job.rows, outcome, status, message })
    this.#context.emitRows()
  }

  /** Whether a retry can help. Otherwise the run is stopped, because other requests would fail as well. */
  #mayRepeat(verdict: Extract<Verdict, { outcome: 'no_effect' }>, failingMs: number): boolean {
    const { cause, message } = verdict
    if (cause === 'too_large') return false
    if (cause === 'not_sent' && verdict.stop !== undefined) {
      this.#context.stop(verdict.stop)
      return false
    }
    if (cause === 'unauthorized' || cause === 'forbidden') {
      const hint =
        cause === 'unauthorized'
          ? 'Check the API key, then run the same command again to resume.'
          : 'Use a key with this permission, then run the same command again to resume.'
      this.#context.stop(new GdnError(cause, message, { hint }))
      return false
    }
    if (cause === 'other_label') {
      this.#context.stop(stoppedByLabel(message))
      return false
    }
    if (cause === 'max_cost') {
      if (verdict.retryAfterMs !== null && failingMs <= MAX_COST_WAIT_MS) return true
      this.#context.stop(new GdnError('max_cost', message, { hint: MORE_COST }))
      return false
    }
    if (failingMs <= (cause === 'not_sent' ? this.#unreachableMs : MAX_RATE_LIMITED_MS)) return true
    this.#context.stop(
      new GdnError(cause === 'not_sent' ? 'unreachable' : cause, message, {
        hint: AGAIN,
      }),
    )
    return false
  }

  async #hold(
    endpoint: MintEndpoint,
    verdict: Extract<Verdict, { outcome: 'no_effect' }>,
    attempt: number,
  ): Promise<boolean> {
    const { emit, pacer } = this.#context
    if (verdict.cause === 'rate_limited' || verdict.cause === 'not_ready' || verdict.cause === 'max_cost') {
      const { cause } = verdict
      const ms = Math.max(verdict.retryAfterMs ?? DEFAULT_HOLD_MS, 1)
      // Other commands have to see at once what the operator of the backend has to do.
      if (cause !== 'not_ready') pacer.hold(endpoint, ms)
      const reason = cause === 'max_cost' ? await this.#context.whyWaiting(null) : null
      this.#context.heldFor = reason ?? verdict.message
      emit({ type: 'holding', reason: cause, ms, message: reason ?? verdict.message })
      return this.#context.pause(ms)
    }
    const ms = backoff(attempt)
    this.#context.heldFor = verdict.message
    emit({ type: 'holding', reason: 'unreachable', ms, message: verdict.message })
    return this.#context.pause(ms)
  }

  #retryLater({ id, n }: { id: number; n: number }, attempts: number): void {
    const now = this.#context.now()
    this.#retries.push({ id, n, attempts, since: now, notBefore: now + (attempts === 0 ? 0 : backoff(attempts)) })
  }

  #afterUnknown(job: Job, { message, foreign, status }: Extract<Verdict, { outcome: 'unknown' }>): void {
    if (hasMeans(job)) {
      this.#retryLater(job, 1)
      this.#context.emit({ type: 'holding', reason: 'unknown', ms: backoff(1), message })
    } else if (foreign === true) {
      // A server that isn't the API would respond to each further request in the same way, and each would be unknown.
      const code = status === 401 ? 'unauthorized' : status === 403 ? 'forbidden' : 'bad_answer'
      const hint = 'Check the base URL and the API key, then run the same command again to resume.'
      this.#context.stop(new GdnError(code, `${message}, which is not a response of the API`, { hint }))
    }
  }
}

/** Causes that end without a change of the request. */
const NOT_NOW: ReadonlySet<string> = new Set(['rate_limited', 'not_ready'])

const MORE_COST =
  'The rows that were not accepted stay planned. To send them, run the same command with a higher --max-cost.'
const AGAIN = 'When the server responds, run the same command again to resume.'

/** The number of rows per request after a larger request was rejected. */
const halfOf = (rows: number): number => Math.max(1, Math.floor(rows / 2))

/** Returns the permission to send if what precedes the request fails. */
async function unlessFailed<Value>(slot: { done(): void }, act: () => Promise<Value>): Promise<Value> {
  try {
    return await act()
  } catch (error) {
    slot.done()
    throw error
  }
}

/**
 * Requests that may be repeated with their keys: the outcome of all their rows is unknown, and the backend still has
 * the record of their keys.
 */
export async function resendable(store: RunStore): Promise<RowRequest[]> {
  return await store.read((sql) =>
    requestsWith(sql, store.id, 'unknown')
      .filter(
        ({ id, n }) =>
          n > store.drop.restoredAfter &&
          rowsOfRequest(sql, store.drop, id).every(({ isCurrent, state }) => isCurrent && state === 'unknown'),
      )
      .map(({ id }) => readRowRequest(sql, id))
      .filter(hasMeans),
  )
}
