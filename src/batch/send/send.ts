import type { MintEndpoint } from '../../api/mint-endpoints.ts'
import { GdnError } from '../../core/errors.ts'
import type { NoEffectAttempt, UnknownAttempt } from '../../operations/classify.ts'
import { IN_FLIGHT } from '../../operations/defaults.ts'
import { canDeduplicate, isRepeatable } from '../../operations/repeatable.ts'
import {
  computeRetryDelayMs,
  createDropRetries,
  isTemporaryCause,
  mayRetry,
  type Retries,
  stopError,
} from '../../operations/retries.ts'
import { readRowRequest, readRowsOfRequest } from '../../state/row-requests.ts'
import { beginSending, sendRows } from '../../state/send-rows.ts'
import { stoppedByLabelError } from '../identity/other-labels.ts'
import type { RequestPlan } from '../request-plan.ts'
import type { RunContext } from '../runs/run-context.ts'
import { type AttemptResult, Attempts, type Job } from './attempts.ts'
import { listResendable } from './list-resendable.ts'
import { type BuildRequest, selectRequestFeatures } from './request.ts'
import { type Repetition, Repetitions, type RequestPart, RequestQueue } from './request-queue.ts'
import { ServerHealth } from './server-health.ts'

/**
 * Sends the rows of a plan, a few requests at a time. Every request is committed before its first byte is sent, so that
 * unknown outcomes can be recognized after a restart.
 *
 * Several workers, or one worker if the order of rows matters, repeatedly start the next of these jobs until none is
 * left:
 *
 * 1. A request with an unknown outcome whose repetition is due: `#sendAgain` sends the stored bytes again, but only if
 *    the server creates at most one NFT for each reference ID, or honors the request's key.
 * 2. Otherwise, the next rows of the plan: `#sendFirst`. After several unknown outcomes in a row, if the server honors
 *    neither keys nor reference IDs, `#tryOne` sends one row at a time until the server accepts one.
 * 3. Otherwise, the worker waits for the next repetition, or ends.
 *
 * An attempt has one of these outcomes:
 *
 * - `accepted`: the rows are recorded as accepted.
 * - `refused`: the rows are recorded as failed.
 * - `no_effect`: if a retry can help, the same bytes are sent again. Otherwise, the run is stopped, because other
 *   requests would fail as well. The rows of a request that is too large go back to the queue, and are sent in smaller
 *   requests.
 * - `unknown`: the request waits for its repetition. If the request can't be repeated, reconciling resolves its rows
 *   later.
 *
 * For example, the rows A, B and C are sent in one request each. A is accepted. The connection breaks while B is sent,
 * so the outcome of B is unknown. Its request waits to be repeated with its key. C gets 429, which has no effect, so it
 * is sent again after a pause. Then the bytes of B are sent again, and the server returns the NFT that the first
 * attempt created.
 */
export class Sender {
  #requestCount = 0
  readonly #context: RunContext
  readonly #requestOf: BuildRequest
  readonly #onAttempt: () => void
  readonly #retries: Retries
  readonly #attempts: Attempts
  readonly #health: ServerHealth
  readonly #queue: RequestQueue
  readonly #repetitions: Repetitions
  #trial: Promise<void> = Promise.resolve()

  /** @param onAttempt called after each response, so that other work of the run can continue */
  constructor(context: RunContext, plan: RequestPlan, requestOf: BuildRequest, onAttempt: () => void) {
    this.#context = context
    this.#requestOf = requestOf
    this.#onAttempt = onAttempt
    this.#retries = createDropRetries(context.options.unreachableMs)
    this.#attempts = new Attempts(context)
    this.#health = new ServerHealth(context, this.#retries)
    this.#queue = new RequestQueue(plan)
    this.#repetitions = new Repetitions(context.now, this.#retries)
  }

  /** Sends requests until each has an outcome or is left to reconciling, or until the run is stopped. */
  async run(): Promise<{ requests: number; attempts: number }> {
    const { client, run, options } = this.#context
    for (const request of await listResendable(run)) this.#repetitions.add({ ...request, attempts: 0 })
    if (this.#queue.hasMore && client.supports('idempotency') === null) await this.#health.learnCapabilities()
    // If the order of rows matters, use one worker, because the server may process concurrent requests in any order.
    const count = run.drop.inOrder ? 1 : (options.inFlight ?? IN_FLIGHT)
    const workers = Array.from({ length: count }, () => this.#work())
    const results = await Promise.allSettled(workers)
    const failure = results.find((result) => result.status === 'rejected')
    if (failure !== undefined) throw failure.reason
    return { requests: this.#requestCount, attempts: this.#attempts.count }
  }

  async #work(): Promise<void> {
    try {
      for (;;) {
        const job = await this.#nextJob()
        if (job === null) return
        await job()
      }
    } catch (error) {
      // Responses to requests in flight are still recorded, but no further request is started.
      this.#context.stop(error instanceof GdnError ? error : new GdnError('unexpected', String(error)))
      throw error
    }
  }

  async #nextJob(): Promise<(() => Promise<void>) | null> {
    const { halt, run } = this.#context
    while (!halt.aborted) {
      const dueRepetition = this.#repetitions.takeDue()
      if (dueRepetition !== undefined) return () => this.#sendAgain(dueRepetition)
      // While the server is unreachable, repetitions are enough to detect that it has recovered.
      const blocked = !this.#repetitions.isEmpty && (run.drop.inOrder || this.#health.isFailing)
      if (this.#queue.hasMore && !blocked) {
        if (this.#health.isSuspicious) return () => this.#tryOne()
        const part = this.#nextPart(Number.POSITIVE_INFINITY)
        return () => this.#sendFirst(part)
      }
      if (this.#repetitions.isEmpty) return null
      await this.#context.pause(this.#repetitions.waitMs)
    }
    return null
  }

  /** Returns the next rows to send: at most `most`, and no more than the server accepts. */
  #nextPart(most: number): RequestPart {
    return this.#queue.take(Math.min(most, this.#context.run.drop.largest ?? most))
  }

  /** Sends single rows until the server accepts one. Before each row, the server must respond to a query. */
  #tryOne(): Promise<void> {
    const trial = this.#trial.then(async () => {
      if (!this.#health.isSuspicious) return
      if ((await this.#health.waitForResponse()) && this.#queue.hasMore) await this.#sendFirst(this.#nextPart(1))
    })
    this.#trial = trial.catch(() => {})
    return trial
  }

  async #sendFirst(part: RequestPart): Promise<void> {
    const { run, client, newKey, options } = this.#context
    const honorsKey = client.supports('idempotency')
    const { endpoint, body, rows: keptRows } = await this.#requestOf(part, selectRequestFeatures(client, options))
    const rows = keptRows.map(({ key, content, plain, row }) => ({ key, content, plain, line: row.line }))
    const request = { endpoint, body: JSON.stringify(body), rows, key: newKey(), honorsKey }
    const slot = await this.#context.acquireSlot(endpoint)
    if (slot === null) return
    // Commit the request before any byte is sent. If the process is killed afterwards, the next command treats the
    // outcome as unknown.
    const { id, n } = await unlessFailed(slot, () => run.write((sql) => sendRows(sql, run.drop, request, Date.now())))
    this.#requestCount++
    const job = { ...request, id, n, rows: rows.length }
    const result = await this.#untilOutcome(job, slot)
    if (result.outcome === 'unknown') this.#afterUnknown(job, result)
    if (result.outcome !== 'no_effect') return
    await this.#attempts.forget(job, result)
    // The server rejects requests with this many rows, so send the rows in smaller requests.
    if (result.cause === 'too_large') this.#queue.putBack(part, result.fits)
  }

  /** Repeats attempts as long as each is known to have had no effect. Returns the last result. */
  async #untilOutcome(job: Job, firstSlot: { done(): void }): Promise<AttemptResult> {
    const { now, run } = this.#context
    const began = now()
    let slot = firstSlot
    for (let attempt = 1; ; attempt++) {
      const result = await this.#attempts.make(job, slot, attempt)
      await this.#record(job, result, 'pending')
      if (result.outcome !== 'no_effect' || !this.#mayRepeat(result, now() - began)) return result
      const next = (await this.#hold(job.endpoint, result, attempt))
        ? await this.#context.acquireSlot(job.endpoint)
        : null
      if (next === null) return result
      slot = next
      await unlessFailed(slot, () => run.write((sql) => beginSending(sql, job.id, Date.now())))
    }
  }

  /**
   * Sends the stored bytes of a request with an unknown outcome again. The recorded outcome changes only if the request
   * is accepted, or if it is refused because of the maximum supply or a sealed drop.
   */
  async #sendAgain(repetition: Repetition): Promise<void> {
    const context = this.#context
    const { run } = context
    const { id } = repetition
    const job = await run.read((sql) => ({
      ...readRowRequest(sql, id),
      rows: readRowsOfRequest(sql, run.drop, id).length,
    }))
    const { endpoint } = job
    const attempts = repetition.attempts + 1
    const mayRepeat = await isRepeatable(context.client, job, { signal: context.halt, refresh: true })
    if (mayRepeat === null) return void this.#repetitions.add({ ...repetition, attempts })
    const slot = mayRepeat ? await context.acquireSlot(endpoint) : null
    if (slot === null) return
    const result = await this.#attempts.make(job, slot, attempts)
    if (result.outcome === 'accepted') return await this.#record(job, result, 'unknown')
    const isFinal = result.exceedsMaxSupply === true || result.isSealed === true
    if (isFinal && (await this.#attempts.settleRefused(job, result))) return this.#onAttempt()
    this.#attempts.report(job, 'unknown', result)
    // An earlier attempt may have taken effect before the drop was sealed.
    if (result.isSealed === true) return void context.rejectedRepetitions.add(id)
    const isOpen =
      result.outcome === 'unknown' ||
      (result.outcome === 'no_effect' && result.cause !== 'other_label' && this.#mayRepeat(result, 0))
    if (!isOpen) return void context.rejectedRepetitions.add(id)
    const isHeld = result.cause === 'rate_limited' || result.cause === 'not_ready'
    if (isHeld) await this.#hold(endpoint, result, attempts)
    // A 429, `not_ready` or "busy" response shows that the server is reachable ("busy": the first attempt is still in
    // progress).
    const isAlive = isHeld || (result.outcome === 'unknown' && result.busy)
    this.#repetitions.add({ ...repetition, attempts, since: isAlive ? context.now() : repetition.since })
  }

  async #record(job: Job, result: AttemptResult, was: 'pending' | 'unknown'): Promise<void> {
    await this.#attempts.record(job, result, was)
    this.#onAttempt()
    this.#health.recordOutcome(result)
  }

  /** Returns whether a retry can help. If not, stops the run, because other requests would fail as well. */
  #mayRepeat(attempt: NoEffectAttempt, failingMs: number): boolean {
    const { cause, message, stop } = attempt
    if (cause === 'too_large') return false
    if (stop === undefined && mayRetry(this.#retries, attempt, 0, failingMs)) return true
    this.#context.stop(stop ?? (cause === 'other_label' ? stoppedByLabelError(message) : stopError(cause, message)))
    return false
  }

  /** Waits before a retry. Returns false if the run is stopped first. */
  async #hold(endpoint: MintEndpoint, attempt: NoEffectAttempt | UnknownAttempt, attempts: number): Promise<boolean> {
    const { emit, pacer } = this.#context
    const { cause } = attempt
    const ms = Math.max(1, computeRetryDelayMs(this.#retries, attempt, attempts))
    // With `not_ready`, the backend's operator must act. Other commands aren't paused, so that they can report this
    // immediately.
    if (isTemporaryCause(cause) && cause !== 'not_ready') pacer.hold(endpoint, ms)
    const message = isTemporaryCause(cause)
      ? await this.#context.readHoldReason(cause, attempt.message)
      : attempt.message
    this.#context.holdReason = message
    emit({ type: 'holding', reason: isTemporaryCause(cause) ? cause : 'unreachable', ms, message })
    return this.#context.pause(ms)
  }

  #afterUnknown(job: Job, { message, foreign, status }: UnknownAttempt): void {
    if (canDeduplicate(job)) {
      const ms = this.#repetitions.add({ ...job, attempts: 1 })
      this.#context.emit({ type: 'holding', reason: 'unknown', ms, message })
    } else if (foreign) {
      // A server that isn't the API would respond to every further request in the same way, with an unknown outcome
      // each time.
      const code = status === 401 ? 'unauthorized' : status === 403 ? 'forbidden' : 'bad_answer'
      const hint = 'Check the base URL and the API key.'
      this.#context.stop(new GdnError(code, `${message}, which is not a response from the API`, { hint }))
    }
  }
}

/** Runs a step that precedes the request, and releases the slot for sending if the step fails. */
async function unlessFailed<Value>(slot: { done(): void }, task: () => Promise<Value>): Promise<Value> {
  try {
    return await task()
  } catch (error) {
    slot.done()
    throw error
  }
}
