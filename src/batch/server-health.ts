import { backoffMs } from '../core/backoff.ts'
import { GdnError } from '../core/errors.ts'
import type { Verdict } from './classify.ts'
import type { RunContext } from './run-context.ts'

/**
 * So many unknown outcomes in a row, and the fault isn't the single request's: each further one would make more rows
 * unknown. From then on nothing is sent until the server answers a question, and then a single row first.
 */
const SUSPICIOUS_IN_A_ROW = 3
/** The server answers questions and still takes no rows. */
const MAX_UNKNOWN_IN_A_ROW = 10
/** Codes of errors that stand for an answer of the server itself. */
const ANSWERS: ReadonlySet<string> = new Set(['refused', 'unauthorized', 'forbidden', 'rate_limited'])
const NOBODY = '00000000-0000-0000-0000-000000000000'

/** 0.5 s, doubled each time, up to 15 s. */
export const backoff = (attempt: number): number => backoffMs(attempt, { firstMs: 500, maxMs: 15_000, jitter: 0 })

/** Whether the server does what servers do, by the outcomes of what was sent; and the waiting until it does again. */
export class ServerHealth {
  readonly #context: RunContext
  readonly #unreachableMs: number
  #unknownInARow = 0

  constructor(context: RunContext, unreachableMs: number) {
    this.#context = context
    this.#unreachableMs = unreachableMs
  }

  get isFailing(): boolean {
    return this.#unknownInARow >= SUSPICIOUS_IN_A_ROW
  }

  /** Where keys are honoured an unknown outcome costs nothing but time. */
  get isSuspicious(): boolean {
    return this.isFailing && !this.#context.isHonored
  }

  /** Takes an outcome; the run is stopped when too many were unknown. */
  note({ outcome, status }: Pick<Verdict, 'outcome' | 'status'>): void {
    if (outcome === 'unknown') this.#unknownInARow++
    else if (status !== null) this.#unknownInARow = 0
    if (this.#unknownInARow < MAX_UNKNOWN_IN_A_ROW) return
    this.#context.stop(
      new GdnError('bad_answer', `${MAX_UNKNOWN_IN_A_ROW} requests in a row came to no known outcome`, {
        hint: 'something is wrong with the server or the line to it; the rest was not sent. Run the same command again when it works',
      }),
    )
  }

  /** Waits until the server answers a question; false when it doesn't for too long, or the run was stopped. */
  async answersAgain(): Promise<boolean> {
    const context = this.#context
    const began = context.now()
    const message = 'requests came to no known outcome; waiting until the server answers properly again'
    for (let attempt = this.#unknownInARow - SUSPICIOUS_IN_A_ROW + 1; ; attempt++) {
      const ms = backoff(attempt)
      context.emit({ type: 'holding', reason: 'unknown', ms, message })
      if (!(await context.pause(ms))) return false
      const error = await this.ask()
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
  async ask(): Promise<GdnError | null> {
    try {
      await this.#context.client.call('getnfts', { nft_gdn_ids: [NOBODY] }, { signal: this.#context.halt })
      return null
    } catch (error) {
      if (this.#context.halt.aborted) return new GdnError('interrupted', 'interrupted')
      if (!(error instanceof GdnError)) throw error
      return ANSWERS.has(error.code) ? null : error
    }
  }
}
