import { GdnError } from '../core/errors.ts'
import { Attempts, type Job } from './attempts.ts'
import type { Verdict } from './classify.ts'
import type { JournalRecord } from './journal/records.ts'
import { REQUEST } from './ledger.ts'
import { type Piece, Pieces } from './pieces.ts'
import type { RunContext } from './run-context.ts'
import { backoff, ServerHealth } from './server-health.ts'
import type { MintEndpoint } from './types.ts'

/** A request as it is about to leave. */
export interface Outgoing {
  endpoint: MintEndpoint
  body: string
  /** Key, line and content of each row. */
  rows: [key: string, line: number, content: string][]
}

/** What still has to be sent: the planned requests, built one at a time. */
export interface Outbox {
  readonly requests: number
  /** How many rows a planned request has. */
  size(request: number): number
  /** So many of its rows from a place on. */
  build(piece: Piece): Promise<Outgoing>
}

/** A request of unknown outcome that waits to be sent again, to a server that honours its key. */
interface Retry {
  n: number
  attempts: number
  notBefore: number
  since: number
}

const DEFAULT_IN_FLIGHT = 2
const DEFAULT_UNREACHABLE_MS = 120_000
const MAX_ATTEMPTS = 100
const MAX_RATE_LIMITED_MS = 600_000
const DEFAULT_HOLD_MS = 1_000

/**
 * Sends what is planned, a few requests at a time, and sends again what is known to have had no effect; what is
 * unknown is sent again only with its key, where the server has said that it honours keys. Every request stands in the
 * journal before its first byte leaves.
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
  readonly #pieces: Pieces
  #trial: Promise<void> = Promise.resolve()
  #lastNumber: number
  #probed = false

  /**
   * @param aside called after each answer, when there may be time for something else
   * @param isGiven whether another run got this id
   */
  constructor(
    context: RunContext,
    outbox: Outbox,
    inOrder: boolean,
    { aside, isGiven }: { aside(): void; isGiven(id: string): boolean },
  ) {
    this.#context = context
    this.#outbox = outbox
    this.#pieces = new Pieces(outbox)
    this.#inOrder = inOrder
    this.#aside = aside
    this.#attempts = new Attempts(context, isGiven)
    this.#lastNumber = context.ledger.lastRequest
    this.#unreachableMs = context.options.unreachableMs ?? DEFAULT_UNREACHABLE_MS
    this.#health = new ServerHealth(context, this.#unreachableMs)
    for (const n of context.ledger.requestsIn(REQUEST.unknown)) {
      if (context.ledger.mayBeSentAgain(n)) this.#retryLater(n, 0)
    }
  }

  get attempts(): number {
    return this.#attempts.count
  }

  /** Resolves when everything has an outcome, or is parked, or the run was stopped. */
  async run(): Promise<void> {
    // Two requests under way may be taken in either order.
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
      // What is under way elsewhere still gets its answer recorded; nothing new is begun.
      this.#context.stop(error instanceof GdnError ? error : new GdnError('unexpected', String(error)))
      throw error
    }
  }

  async #nextJob(): Promise<(() => Promise<void>) | null> {
    const { client, halt, now } = this.#context
    while (!halt.aborted) {
      if (this.#retries.length > 0 && client.supportsIdempotency() !== true && !this.#probed) await this.#probe()
      const honoured = client.supportsIdempotency() === true
      const retry = honoured ? this.#retries.find(({ notBefore }) => notBefore <= now()) : undefined
      if (retry !== undefined) {
        this.#retries.splice(this.#retries.indexOf(retry), 1)
        return () => this.#sendAgain(retry)
      }
      // While nothing gets through, what is under way already is enough to find out when it does.
      const blocked = honoured && this.#retries.length > 0 && (this.#inOrder || this.#health.isFailing)
      if (this.#pieces.hasMore && !blocked) {
        if (this.#health.isSuspicious) return () => this.#tryOne()
        const piece = this.#nextPiece(Number.POSITIVE_INFINITY)
        return () => this.#sendFirst(piece)
      }
      if (!honoured || this.#retries.length === 0) return null
      const wait = Math.min(...this.#retries.map(({ notBefore }) => notBefore)) - now()
      await this.#context.pause(Math.max(1, wait))
    }
    return null
  }

  /** Learns whether the server honours keys, by the header it says so with. */
  async #probe(): Promise<void> {
    this.#probed = true
    await this.#health.ask()
    // A refusal tells as much; without any answer the next unknown outcome asks again.
    this.#probed = this.#context.client.supportsIdempotency() !== null
  }

  /** No larger than the server takes, nor than asked for. */
  #nextPiece(most: number): Piece {
    return this.#pieces.take(this.#context.ledger.chunkSize(most))
  }

  /** One row at a time, each after the server was seen to answer, until it takes one. */
  #tryOne(): Promise<void> {
    const mine = this.#trial.then(async () => {
      if (!this.#health.isSuspicious) return
      if ((await this.#health.answersAgain()) && this.#pieces.hasMore) await this.#sendFirst(this.#nextPiece(1))
    })
    this.#trial = mine.catch(() => {})
    return mine
  }

  async #sendFirst(piece: Piece): Promise<void> {
    const context = this.#context
    const { endpoint, body, rows } = await this.#outbox.build(piece)
    const slot = await context.take(endpoint)
    if (slot === null) return
    const n = ++this.#lastNumber
    const key = context.newKey()
    // On the disk before a byte leaves: should we be killed from here on, the next start knows that it doesn't know.
    await this.#recordBefore(slot, { t: 'intent', n, endpoint, key, body, rows, at: Date.now() })
    this.requests++
    const job = { n, endpoint, key, body: Buffer.from(body), rows: rows.length }
    if ((await this.#untilOutcome(job, slot)) === 'too_large') this.#pieces.putBack(piece)
  }

  async #recordBefore(slot: { done(): void }, record: JournalRecord): Promise<void> {
    try {
      await this.#context.record(record, true)
    } catch (error) {
      slot.done()
      throw error
    }
  }

  /**
   * An only attempt, and more of them as long as each is known to have had no effect. `too_large`: the server takes no
   * request of so many rows; they are to be sent in smaller ones.
   */
  async #untilOutcome(job: Job, first: { done(): void }): Promise<'too_large' | 'known'> {
    const context = this.#context
    const began = context.now()
    let slot: { done(): void } | null = first
    for (let attempt = 1; slot !== null; attempt++) {
      const verdict = await this.#attempts.make(job, slot, attempt)
      await this.#recordAnswer(job, verdict)
      if (verdict.outcome === 'unknown') this.#retryLater(job.n, 1, verdict.message)
      if (verdict.outcome !== 'no_effect') return 'known'
      if (verdict.cause === 'too_large') {
        const chunkSize = context.ledger.chunkSize(job.rows)
        context.emit({ type: 'resized', chunkSize, message: verdict.message })
        return 'too_large'
      }
      if (!this.#mayRepeat(verdict, context.now() - began)) return 'known'
      if (!(await this.#hold(job.endpoint, verdict, attempt))) return 'known'
      slot = await context.take(job.endpoint)
      if (slot !== null) await this.#recordBefore(slot, { t: 'again', n: job.n })
    }
    return 'known'
  }

  /** Sends the stored bytes of an unknown request again. Nothing but success changes what is known of it. */
  async #sendAgain(retry: Retry): Promise<void> {
    const context = this.#context
    const { n } = retry
    const { endpoint, key, body, rows } = await context.ledger.readIntent(context.records, n)
    const slot = await context.take(endpoint)
    if (slot === null) return
    const attempts = retry.attempts + 1
    const job = { n, endpoint, key, body: Buffer.from(body), rows: rows.length }
    const verdict = await this.#attempts.make(job, slot, attempts)
    if (verdict.outcome === 'accepted') return this.#recordAnswer(job, verdict)
    const passing = verdict.outcome === 'unknown' || verdict.outcome === 'no_effect'
    this.#emitAnswer(job, { ...verdict, outcome: 'unknown' })
    if (!passing || (verdict.outcome === 'no_effect' && !this.#mayRepeat(verdict, 0))) {
      context.notResolved.add(n)
      return
    }
    if (verdict.outcome === 'no_effect' && verdict.cause === 'rate_limited') {
      await this.#hold(endpoint, verdict, attempts)
    }
    // Busy is an answer: the server is alive and says that the first attempt goes on. So is 429.
    const alive = verdict.outcome === 'unknown' ? verdict.busy : verdict.cause === 'rate_limited'
    const since = alive ? context.now() : retry.since
    if (attempts >= MAX_ATTEMPTS || context.now() - since > this.#unreachableMs) return
    this.#retries.push({ n, attempts, since, notBefore: context.now() + backoff(attempts) })
  }

  async #recordAnswer(job: Job, verdict: Verdict): Promise<void> {
    const { outcome, status } = verdict
    const told = verdict.outcome === 'accepted' ? { ids: verdict.ids } : { message: verdict.message }
    await this.#context.record({ t: 'answer', n: job.n, outcome, status, ...told, at: Date.now() }, true)
    this.#emitAnswer(job, verdict)
    this.#aside()
    this.#health.note(verdict)
  }

  #emitAnswer(job: Job, verdict: Pick<Verdict, 'outcome' | 'status'> & { message?: string }): void {
    const { outcome, status, message = null } = verdict
    this.#context.emit({ type: 'answered', request: job.n, rows: job.rows, outcome, status, message })
    this.#context.emitRows()
  }

  /** Whether sending again can help; if not, the run is stopped: nothing else would go better. */
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
          ? 'check the API key, then run the same command again: it goes on where it stopped'
          : 'use a key that may do this, then run the same command again: it goes on where it stopped'
      this.#context.stop(new GdnError(cause, message, { hint }))
      return false
    }
    if (failingMs <= (cause === 'not_sent' ? this.#unreachableMs : MAX_RATE_LIMITED_MS)) return true
    this.#context.stop(
      new GdnError(cause === 'not_sent' ? 'unreachable' : 'rate_limited', message, {
        hint: 'run the same command again when the server answers: it goes on where it stopped',
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
    if (verdict.cause === 'rate_limited') {
      const ms = Math.max(verdict.retryAfterMs ?? DEFAULT_HOLD_MS, 1)
      pacer.hold(endpoint, ms)
      emit({ type: 'holding', reason: 'rate_limited', ms, message: verdict.message })
      return this.#context.pause(ms)
    }
    const ms = backoff(attempt)
    emit({ type: 'holding', reason: 'unreachable', ms, message: verdict.message })
    return this.#context.pause(ms)
  }

  #retryLater(n: number, attempts: number, message?: string): void {
    const ms = attempts === 0 ? 0 : backoff(attempts)
    const now = this.#context.now()
    this.#retries.push({ n, attempts, since: now, notBefore: now + ms })
    if (message !== undefined && this.#context.client.supportsIdempotency() === true) {
      this.#context.emit({ type: 'holding', reason: 'unknown', ms, message })
    }
  }
}
