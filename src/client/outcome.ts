import { HEADERS, REFERENCE_ERRORS, RUN_ERRORS } from '../api/headers.ts'
import { GdnError } from '../core/errors.ts'
import { isErrorForm, isIdempotencyError, isNotNow, isNotReady } from './answers.ts'
import { retryAfterMs } from './retry.ts'

/** The parts of a request's result that determine its outcome, after it was sent once. */
export type Sent =
  | { kind: 'answered'; status: number; headers: Readonly<Record<string, string>>; json: unknown; text?: string }
  | { kind: 'not_sent'; reason: string }
  | { kind: 'cut'; reason: string }

/** Why a request certainly had no effect. Those after `refused` may be accepted later. */
export type NoEffect =
  | 'refused'
  | 'too_large'
  | 'not_sent'
  | 'rate_limited'
  | 'not_ready'
  | 'unauthorized'
  | 'forbidden'
  | 'max_cost'

/** The outcome of one attempt, if it were the only one. */
export type Outcome =
  /** A success. The endpoint's contract decides whether its body proves acceptance. */
  | { effect: 'created'; status: number }
  | { effect: 'none'; cause: NoEffect; status: number | null; retryAfterMs: number | null }
  /** `busy`: the server still works on an earlier attempt with the same key. */
  | { effect: 'unknown'; status: number | null; busy: boolean; retryAfterMs: number | null }

/** Statuses that, in the form of the API, mean that the server processed the request and did nothing. */
const REFUSED: ReadonlySet<number> = new Set([400, 404, 413, 415, 422])

/** A request that is rejected for its reference IDs created nothing. */
const REFERENCE_CODES: ReadonlySet<string | undefined> = new Set(Object.values(REFERENCE_ERRORS))

/**
 * Decides what the response to a creating request proves. The outcome is unknown unless the response proves an effect,
 * or proves that there was none.
 *
 * @param wallClock for a Retry-After that is a date
 */
export function outcomeOf(sent: Sent, wallClock: number): Outcome {
  if (sent.kind === 'not_sent') return { effect: 'none', cause: 'not_sent', status: null, retryAfterMs: null }
  if (sent.kind === 'cut') return { effect: 'unknown', status: null, busy: false, retryAfterMs: null }
  const { status, json, text } = sent
  const wait = retryAfterMs(sent.headers, wallClock)
  const none = (cause: NoEffect): Outcome => ({ effect: 'none', cause, status, retryAfterMs: wait })
  if (status >= 200 && status < 300) return { effect: 'created', status }
  if (isNotReady(sent)) return none('not_ready')
  // In any form: a proxy checks rate and size before it forwards a request.
  if (status === 429 || isNotNow(sent)) return none('rate_limited')
  if (status === 413) return none('too_large')
  // A proxy may replace the server's response with its own page, even after the request took effect.
  if (!isErrorForm(json)) return { effect: 'unknown', status, busy: status === 409, retryAfterMs: wait }
  if (status === 401) return none('unauthorized')
  if (status === 403) return none('forbidden')
  if (REFERENCE_CODES.has(sent.headers[HEADERS.errorCode])) return none('refused')
  if (sent.headers[HEADERS.errorCode] === RUN_ERRORS.maxCost) return none('max_cost')
  const isAboutKey = isIdempotencyError(sent, text ?? JSON.stringify(json) ?? '')
  if (!isAboutKey && REFUSED.has(status)) return none('refused')
  return { effect: 'unknown', status, busy: status === 409, retryAfterMs: wait }
}

/** The error for a request whose outcome is unknown, with a hint what to check before it is repeated. */
export function unknownOutcome(
  name: string,
  reason: string,
  hint = 'Check whether it took effect before you repeat it.',
  cause?: unknown,
): GdnError {
  return new GdnError('unknown_outcome', `${name} was sent, but its outcome is unknown (${reason})`, {
    hint,
    details: { reason },
    cause,
  })
}
