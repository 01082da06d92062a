import { backoffMs } from '../core/backoff.ts'
import { GdnError } from '../core/errors.ts'
import type { Verdict } from './classify.ts'
import type { RunContext } from './run-context.ts'

/**
 * After this many unknown outcomes in a row, the problem isn't the single request, and further requests would make more
 * rows unknown. From then on nothing is sent until the server responds to a query, and then a single row first.
 */
const SUSPICIOUS_IN_A_ROW = 3
/** How long the server may respond to queries without accepting rows. */
const MAX_UNKNOWN_IN_A_ROW = 10
/** Codes of errors that mean that the server itself responded. */
const ANSWERS: ReadonlySet<string> = new Set(['refused', 'unauthorized', 'forbidden', 'rate_limited'])
const NOBODY = '00000000-0000-0000-0000-000000000000'

/** 0.5 s, doubled each time, up to 15 s. */
export const backoff = (attempt: number): number => backoffMs(attempt, { firstMs: 500, maxMs: 15_000, jitter: 0 })

/** Judges by the outcomes of requests whether the server works, and waits until it does. */
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

  /** Whether requests should be held back. Where keys are honored, an unknown outcome costs only time. */
  get isSuspicious(): boolean {
    return this.isFailing && !this.#context.isHonored
  }

  /** Records an outcome. Stops the run when too many were unknown. */
  note({ outcome, status }: Pick<Verdict, 'outcome' | 'status'>): void {
    if (outcome === 'unknown') this.#unknownInARow++
    else if (status !== null) this.#unknownInARow = 0
    if (this.#unknownInARow < MAX_UNKNOWN_IN_A_ROW) return
    this.#context.stop(
      new GdnError('bad_answer', `${MAX_UNKNOWN_IN_A_ROW} requests in a row had an unknown outcome`, {
        hint: 'Other rows were not sent. Check the server and the connection, then run the same command again to resume.',
      }),
    )
  }

  /** Waits until the server responds to a query. Returns false if it doesn't in time, or the run was stopped. */
  async answersAgain(): Promise<boolean> {
    const context = this.#context
    const began = context.now()
    const message = 'the outcome of several requests is unknown; waiting until the server responds normally'
    for (let attempt = this.#unknownInARow - SUSPICIOUS_IN_A_ROW + 1; ; attempt++) {
      const ms = backoff(attempt)
      context.emit({ type: 'holding', reason: 'unknown', ms, message })
      if (!(await context.pause(ms))) return false
      const error = await this.ask()
      if (error === null) return true
      if (context.halt.aborted) return false
      if (context.now() - began > this.#unreachableMs) {
        context.stop(
          new GdnError('unreachable', `the server no longer responds: ${error.message}`, {
            hint: 'Nothing more was sent. When the server responds, run the same command again to resume.',
          }),
        )
        return false
      }
    }
  }

  /** Sends a harmless query. Returns null if the response is one of the server itself. */
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
