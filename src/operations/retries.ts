import type { NoEffectOutcome, UnknownOutcome } from '../client/outcome.ts'
import { RETRY_BACKOFF } from '../client/retry-read.ts'
import type { RunLimit } from '../client/run-limit.ts'
import { type Backoff, backoffMs } from '../core/backoff.ts'
import { GdnError } from '../core/errors.ts'
import type { FailedAttempt } from './classify.ts'
import { UNREACHABLE_MS } from './defaults.ts'

/** The properties of a failed attempt that determine whether it is retried. */
export type RetriedAttempt = Pick<NoEffectOutcome | UnknownOutcome, 'cause' | 'retryAfterMs'>

/** The rules for retrying a request. */
export interface Retries {
  /** Maximum time to retry for each cause, in milliseconds. Other causes aren't retried. */
  maxMsByCause: Partial<Record<RetriedAttempt['cause'], number>>
  /** Maximum number of attempts. Default: unlimited. */
  maxAttempts?: number
  backoff: Backoff
}

const MINUTE = 60_000

/**
 * The retry rules of a command while the user waits for it. Retries only the cause `rate_limited`, for at most a
 * minute.
 */
export const COMMAND_RETRIES: Retries = {
  maxMsByCause: { rate_limited: MINUTE },
  maxAttempts: 6,
  backoff: RETRY_BACKOFF,
}

/**
 * The retry rules of a command whose outcome is unknown. Also retries attempts without a response, because only a
 * success resolves the outcome.
 */
export const COMMAND_IN_DOUBT_RETRIES: Retries = {
  ...COMMAND_RETRIES,
  maxMsByCause: { rate_limited: MINUTE, not_sent: MINUTE, unknown: MINUTE },
}

/**
 * Returns the retry rules of a drop. A drop runs unattended, so it retries long enough for the server's operator to
 * act.
 */
export const createDropRetries = (unreachableMs: number = UNREACHABLE_MS): Retries => ({
  maxMsByCause: {
    not_sent: unreachableMs,
    unknown: unreachableMs,
    rate_limited: 10 * MINUTE,
    not_ready: 10 * MINUTE,
    // This time is longer than any network needs to finalize blocks.
    max_cost: 60 * MINUTE,
  },
  backoff: { firstMs: 500, maxMs: 15_000, jitter: 0 },
})

/** Maximum number of attempts for a request of a drop while its outcome is unknown. */
export const MAX_IN_DOUBT_ATTEMPTS = 100

/** Returns the retry rules for changes by `apply`, which take effect once, regardless of the number of attempts. */
export const createChangeRetries = (isPending: boolean, timeoutMs: number): Retries => ({
  maxMsByCause: {
    not_sent: UNREACHABLE_MS,
    // As in a drop, retry long enough for the server's operator to fund the signer.
    not_ready: timeoutMs,
    // The used part of a run's limit can decrease only when a pending change completes.
    max_cost: isPending ? timeoutMs : -1,
  },
  backoff: RETRY_BACKOFF,
})

/** The causes for which the server may send a time for the retry. */
export type TemporaryCause = 'rate_limited' | 'not_ready' | 'max_cost'

export const isTemporaryCause = (cause: RetriedAttempt['cause']): cause is TemporaryCause =>
  cause === 'rate_limited' || cause === 'not_ready' || cause === 'max_cost'

/**
 * Returns whether another attempt may follow. If the run has reached its limit, the request is retried only if the
 * server sends a time for the retry.
 *
 * @param attempts the number of attempts so far
 * @param failingMs milliseconds since the first attempt or the last progress
 */
export const mayRetry = (
  { maxMsByCause, maxAttempts = Number.POSITIVE_INFINITY }: Retries,
  { cause, retryAfterMs }: RetriedAttempt,
  attempts: number,
  failingMs: number,
): boolean =>
  attempts < maxAttempts && failingMs <= (maxMsByCause[cause] ?? -1) && (cause !== 'max_cost' || retryAfterMs !== null)

/**
 * Returns the time until the next attempt, in milliseconds. This is the server's Retry-After, or else an increasing
 * delay.
 */
export const computeRetryDelayMs = (
  { backoff }: Retries,
  { cause, retryAfterMs }: RetriedAttempt,
  attempts: number,
  random?: () => number,
): number => retryAfterMs ?? backoffMs(isTemporaryCause(cause) ? 2 : attempts, backoff, random)

/** Returns the error of a command whose request had no effect. */
export function toNoEffectError(attempt: FailedAttempt, limit: RunLimit | null | undefined): unknown {
  const { message, error } = attempt
  if (attempt.outcome !== 'no_effect' || attempt.cause !== 'max_cost') return error
  // Only an explicit `--max-cost` can be raised. Any other limit is the cost that was permitted based on the fees at
  // that time.
  const raise = limit?.maxCost?.isSet ? 'with a higher --max-cost, or ' : ''
  return new GdnError('max_cost', message, {
    hint: `This request was not accepted. Run the same command again ${raise}when fees are lower.`,
    cause: error,
  })
}

/** A hint without a command, because the errors of runs name the command that resumes the run. */
const WAIT_HINT = 'Wait until the server accepts requests again.'

const HINT_BY_CAUSE: Partial<Record<NoEffectOutcome['cause'], string>> = {
  unauthorized: 'Check the API key.',
  forbidden: 'Use a key with this permission.',
  max_cost:
    'The rows that were not accepted remain pending. To send them, run the same command with a higher --max-cost.',
}

/** Returns the error that stops a drop, because its other requests would fail as well. */
export const stopError = (
  cause: Exclude<NoEffectOutcome['cause'], 'too_large' | 'other_label'>,
  message: string,
): GdnError =>
  new GdnError(cause === 'not_sent' ? 'unreachable' : cause, message, { hint: HINT_BY_CAUSE[cause] ?? WAIT_HINT })
