import { UNKNOWN } from '../../client/outcome.ts'
import { GdnError } from '../../core/errors.ts'
import { mayRetry, type Retries, stopOf, waitBefore } from '../../operations/retries.ts'
import type { RunContext } from '../runs/run-context.ts'
import type { Verdict } from './attempts.ts'

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

/** Judges by the outcomes of requests whether the server works, and waits until it does. */
export class ServerHealth {
  readonly #context: RunContext
  readonly #retries: Retries
  #unknownInARow = 0

  constructor(context: RunContext, retries: Retries) {
    this.#context = context
    this.#retries = retries
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

  /**
   * Learns how the server makes a repetition take effect once, because requests are built and committed accordingly.
   * Stops the run if the server doesn't respond.
   */
  async learn(): Promise<void> {
    const { client, halt } = this.#context
    const message = 'the server does not respond'
    const ask = async () => {
      try {
        return (await client.learnIdempotency({ signal: halt })) === null ? stopOf('not_sent', message) : null
      } catch (error) {
        if (!(error instanceof GdnError)) throw error
        this.#context.stop(error)
        return error
      }
    }
    await this.#untilResponds(ask, 0, { reason: 'unreachable', message })
  }

  /**
   * Waits until the server itself responds to a harmless query. Returns false if it doesn't in time, or the run was
   * stopped.
   */
  async answersAgain(): Promise<boolean> {
    const { client, halt } = this.#context
    const ask = async () => {
      try {
        await client.call('getnfts', { nft_gdn_ids: [NOBODY] }, { signal: halt })
        return null
      } catch (error) {
        if (halt.aborted) return null
        if (!(error instanceof GdnError)) throw error
        if (ANSWERS.has(error.code)) return null
        return new GdnError('unreachable', `the server no longer responds: ${error.message}`, {
          hint: 'Nothing more was sent. Wait until the server responds.',
        })
      }
    }
    const message = 'the outcome of several requests is unknown; waiting until the server responds normally'
    return await this.#untilResponds(ask, this.#unknownInARow - SUSPICIOUS_IN_A_ROW + 1, { reason: 'unknown', message })
  }

  /** @param ask returns the error to stop with, or null after a response */
  async #untilResponds(
    ask: () => Promise<GdnError | null>,
    failures: number,
    why: { reason: 'unreachable' | 'unknown'; message: string },
  ): Promise<boolean> {
    const context = this.#context
    const began = context.now()
    for (let attempts = failures; ; attempts++) {
      if (attempts > 0) {
        const ms = waitBefore(this.#retries, UNKNOWN, attempts)
        context.emit({ type: 'holding', ms, ...why })
        if (!(await context.pause(ms))) return false
      }
      const error = await ask()
      if (error === null || context.halt.aborted) return !context.halt.aborted
      if (!mayRetry(this.#retries, UNKNOWN, attempts, context.now() - began)) {
        context.stop(error)
        return false
      }
    }
  }
}
