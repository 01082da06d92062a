import { GdnError } from '../core/errors.ts'
import { classify, type Verdict } from './classify.ts'
import type { JournalRecord } from './journal/records.ts'
import { REQUEST } from './ledger.ts'
import { type Piece, Pieces } from './pieces.ts'
import { IdSet } from './reconcile/id-set.ts'
import type { RunContext } from './run-context.ts'
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

interface Job {
  n: number
  endpoint: MintEndpoint
  key: string
  body: Buffer
  rows: number
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
/** How long an answer is waited for when the run is stopped. */
const GRACE_MS = 5_000
/**
 * So many unknown outcomes in a row, and the fault isn't the single request's: each further one would make more rows
 * unknown. From then on nothing is sent until the server answers a question, and then a single row first.
 */
const SUSPICIOUS_IN_A_ROW = 3
/** The server answers questions and still takes no rows. */
const MAX_UNKNOWN_IN_A_ROW = 10
const MAX_ATTEMPTS = 100
const MAX_RATE_LIMITED_MS = 600_000
const DEFAULT_HOLD_MS = 1_000
/** Codes of errors that stand for an answer of the server itself. */
const ANSWERS: ReadonlySet<string> = new Set(['refused', 'unauthorized', 'forbidden', 'rate_limited'])
const NOBODY = '00000000-0000-0000-0000-000000000000'

/** 0.5 s, doubled each time, up to 15 s. */
const backoff = (attempt: number): number => Math.min(15_000, 500 * 2 ** (attempt - 1))

/**
 * Sends what is planned, a few requests at a time, and sends again what is known to have had no effect; what is
 * unknown is sent again only with its key, where the server has said that it honours keys. Every request stands in the
 * journal before its first byte leaves.
 */
export class Sender {
  requests = 0
  attempts = 0
  readonly #context: RunContext
  readonly #outbox: Outbox
  readonly #retries: Retry[] = []
  readonly #unreachableMs: number
  readonly #inOrder: boolean
  readonly #aside: () => void
  readonly #isGiven: (id: string) => boolean
  /** Ids of answers that aren't in the journal yet. */
  readonly #given = new IdSet()
  readonly #pieces: Pieces
  #trial: Promise<void> = Promise.resolve()
  #lastNumber: number
  #unknownInARow = 0
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
    this.#isGiven = isGiven
    this.#lastNumber = context.ledger.lastRequest
    this.#unreachableMs = context.options.unreachableMs ?? DEFAULT_UNREACHABLE_MS
    for (const n of context.ledger.requestsIn(REQUEST.unknown)) {
      if (context.ledger.isWhollyUnknown(n)) this.#retryLater(n, 0)
    }
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
      const blocked = honoured && this.#retries.length > 0 && (this.#inOrder || this.#unknownInARow > 2)
      if (this.#pieces.hasMore && !blocked) {
        if (this.#isSuspicious()) return () => this.#tryOne()
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
    await this.#ask()
    // A refusal tells as much; without any answer the next unknown outcome asks again.
    this.#probed = this.#context.client.supportsIdempotency() !== null
  }

  /** No larger than the server takes, nor than asked for. */
  #nextPiece(most: number): Piece {
    return this.#pieces.take(this.#context.ledger.chunkSize(most))
  }

  /** Where keys are honoured an unknown outcome costs nothing but time. */
  #isSuspicious(): boolean {
    return this.#unknownInARow >= SUSPICIOUS_IN_A_ROW && this.#context.client.supportsIdempotency() !== true
  }

  /** One row at a time, each after the server was seen to answer, until it takes one. */
  #tryOne(): Promise<void> {
    const mine = this.#trial.then(async () => {
      if (!this.#isSuspicious()) return
      if ((await this.#answersAgain()) && this.#pieces.hasMore) await this.#sendFirst(this.#nextPiece(1))
    })
    this.#trial = mine.catch(() => {})
    return mine
  }

  /** Waits until the server answers a question; false when it doesn't for too long, or the run was stopped. */
  async #answersAgain(): Promise<boolean> {
    const context = this.#context
    const began = context.now()
    const message = 'requests came to no known outcome; waiting until the server answers properly again'
    for (let attempt = this.#unknownInARow - SUSPICIOUS_IN_A_ROW + 1; ; attempt++) {
      const ms = backoff(attempt)
      context.emit({ type: 'holding', reason: 'unknown', ms, message })
      if (!(await context.pause(ms))) return false
      const error = await this.#ask()
      if (error === null) return true
      if (context.halt.aborted) return false
      if (context.now() - began > this.#unreachableMs) {
        context.stop(
          new GdnError('unreachable', `the server doesn't answer any more: ${error.message}`, {
            hint: 'nothing more was sent. Run the same command again when it works: it goes on where it stopped',
          }),
        )
        return false
      }
    }
  }

  /** Asks something harmless; null when the server said anything to it that a server says. */
  async #ask(): Promise<GdnError | null> {
    try {
      await this.#context.client.call('getnfts', { nft_gdn_ids: [NOBODY] }, { signal: this.#context.halt })
      return null
    } catch (error) {
      if (this.#context.halt.aborted) return new GdnError('interrupted', 'interrupted')
      if (!(error instanceof GdnError)) throw error
      return ANSWERS.has(error.code) ? null : error
    }
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
      const verdict = await this.#attempt(job, slot, attempt)
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
    const verdict = await this.#attempt(job, slot, attempts)
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

  async #attempt(job: Job, slot: { done(): void }, attempt: number): Promise<Verdict> {
    const { client, halt, emit } = this.#context
    const cut = new AbortController()
    const answered = new AbortController()
    const onHalt = () => this.#context.later(GRACE_MS, answered.signal, () => cut.abort())
    halt.addEventListener('abort', onHalt, { once: true })
    if (halt.aborted) onHalt()
    this.attempts++
    emit({ type: 'sending', request: job.n, rows: job.rows, attempt })
    try {
      const result = await client.send(job.endpoint, job.body, { idempotencyKey: job.key, signal: cut.signal })
      const verdict = this.#distrust(classify(result, job.rows, Date.now()))
      const { now } = this.#context
      if (verdict.outcome === 'unknown') this.#context.unknownAt = now()
      if (verdict.outcome === 'accepted') this.#context.acceptedAt.set(job.n, now())
      return verdict
    } finally {
      halt.removeEventListener('abort', onHalt)
      answered.abort()
      slot.done()
    }
  }

  /** An id belongs to one NFT: where it was given before, nobody knows what the answer means. */
  #distrust(verdict: Verdict): Verdict {
    if (verdict.outcome !== 'accepted') return verdict
    const { ids } = this.#context.ledger
    const again = verdict.ids.find((id) => ids.has(id) || !this.#given.add(id) || this.#isGiven(id))
    if (again === undefined) return verdict
    const message = `the server gave the id ${again}, which another row has already`
    return { outcome: 'unknown', status: verdict.status, message, busy: false }
  }

  async #recordAnswer(job: Job, verdict: Verdict): Promise<void> {
    const { outcome, status } = verdict
    const told = verdict.outcome === 'accepted' ? { ids: verdict.ids } : { message: verdict.message }
    await this.#context.record({ t: 'answer', n: job.n, outcome, status, ...told, at: Date.now() }, true)
    this.#emitAnswer(job, verdict)
    if (outcome === 'unknown') this.#unknownInARow++
    else if (status !== null) this.#unknownInARow = 0
    this.#aside()
    if (this.#unknownInARow >= MAX_UNKNOWN_IN_A_ROW) {
      this.#context.stop(
        new GdnError('bad_answer', `${MAX_UNKNOWN_IN_A_ROW} requests in a row came to no known outcome`, {
          hint: 'something is wrong with the server or the line to it; the rest was not sent. Run the same command again when it works',
        }),
      )
    }
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
