import { UNKNOWN_OUTCOME } from '../../client/outcome.ts'
import { GdnError } from '../../core/errors.ts'
import { computeRetryDelayMs, mayRetry, type Retries, stopError } from '../../operations/retries.ts'
import type { RunContext } from '../runs/run-context.ts'
import type { AttemptResult } from './attempts.ts'

/**
 * Number of consecutive unknown outcomes after which gdn assumes a server problem, because further requests could leave
 * more outcomes unknown. Unless requests can be repeated safely, gdn then waits until the server responds to a query,
 * and starts again with a single row.
 */
const MIN_SUSPICIOUS_UNKNOWNS = 3
/** Number of consecutive unknown outcomes after which the run stops, even if the server responds to queries. */
const MAX_UNKNOWN_IN_A_ROW = 10
/** Error codes that show that the server itself responded. */
const RESPONSE_ERROR_CODES: ReadonlySet<string> = new Set(['refused', 'unauthorized', 'forbidden', 'rate_limited'])
const ABSENT_NFT_ID = '00000000-0000-0000-0000-000000000000'

/** Determines from the outcomes of requests whether the server works normally, and waits until it does. */
export class ServerHealth {
  readonly #context: RunContext
  readonly #retries: Retries
  #unknownInARow = 0

  constructor(context: RunContext, retries: Retries) {
    this.#context = context
    this.#retries = retries
  }

  get isFailing(): boolean {
    return this.#unknownInARow >= MIN_SUSPICIOUS_UNKNOWNS
  }

  /**
   * Whether to pause requests. If requests can be repeated safely, they aren't paused, because unknown outcomes only
   * cost time.
   */
  get isSuspicious(): boolean {
    return this.isFailing && !this.#context.isRepetitionSafe
  }

  /** Records an outcome. Stops the run after too many consecutive unknown outcomes. */
  recordOutcome({ outcome, status }: Pick<AttemptResult, 'outcome' | 'status'>): void {
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
   * Queries the server's protection against repeated requests, which determines how requests are built and committed.
   * Stops the run if the server doesn't respond.
   */
  async learnCapabilities(): Promise<void> {
    const { client, halt } = this.#context
    const message = 'the server does not respond'
    const ask = async () => {
      try {
        return (await client.learnCapabilities({ signal: halt })) === null ? stopError('not_sent', message) : null
      } catch (error) {
        if (!(error instanceof GdnError)) throw error
        this.#context.stop(error)
        return error
      }
    }
    await this.#untilResponds(ask, 0, { reason: 'unreachable', message })
  }

  /**
   * Waits until the server itself responds to a read-only query. Returns false if it doesn't respond in time, or if the
   * run is stopped.
   */
  async waitForResponse(): Promise<boolean> {
    const { client, halt } = this.#context
    const ask = async () => {
      try {
        await client.call('getnfts', { nft_gdn_ids: [ABSENT_NFT_ID] }, { signal: halt })
        return null
      } catch (error) {
        if (halt.aborted) return null
        if (!(error instanceof GdnError)) throw error
        if (RESPONSE_ERROR_CODES.has(error.code)) return null
        return new GdnError('unreachable', `the server no longer responds: ${error.message}`, {
          hint: 'Nothing more was sent. When the server responds again, run the same command to resume.',
        })
      }
    }
    const message = 'the outcome of several requests is unknown; waiting until the server responds normally'
    return await this.#untilResponds(ask, this.#unknownInARow - MIN_SUSPICIOUS_UNKNOWNS + 1, {
      reason: 'unknown',
      message,
    })
  }

  /**
   * Queries the server until it responds.
   *
   * @param ask returns null if the server responded, or the error with which to stop
   */
  async #untilResponds(
    ask: () => Promise<GdnError | null>,
    failures: number,
    why: { reason: 'unreachable' | 'unknown'; message: string },
  ): Promise<boolean> {
    const context = this.#context
    const began = context.now()
    for (let attempts = failures; ; attempts++) {
      if (attempts > 0) {
        const ms = computeRetryDelayMs(this.#retries, UNKNOWN_OUTCOME, attempts)
        context.emit({ type: 'holding', ms, ...why })
        if (!(await context.pause(ms))) return false
      }
      const error = await ask()
      if (error === null || context.halt.aborted) return !context.halt.aborted
      if (!mayRetry(this.#retries, UNKNOWN_OUTCOME, attempts, context.now() - began)) {
        context.stop(error)
        return false
      }
    }
  }
}
