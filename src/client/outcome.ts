import { HEADERS, REFERENCE_ERRORS } from '../api/headers.ts'
import { GdnError } from '../core/errors.ts'
import { isErrorForm, isIdempotencyError, isNotNow } from './answers.ts'
import { retryAfterMs } from './retry.ts'

/** A request after it was sent once, as far as its outcome depends on it. */
export type Sent =
  | { kind: 'answered'; status: number; headers: Readonly<Record<string, string>>; json: unknown; text?: string }
  | { kind: 'not_sent'; reason: string }
  | { kind: 'cut'; reason: string }

/** Why a request certainly had no effect. Those after `refused` may be accepted later. */
export type NoEffect = 'refused' | 'too_large' | 'not_sent' | 'rate_limited' | 'unauthorized' | 'forbidden'

/** What one sending of a request came to, were it the only one. */
export type Outcome =
  /** A success; whether its body proves acceptance is for the endpoint's contract to say. */
  | { effect: 'created'; status: number }
  | { effect: 'none'; cause: NoEffect; status: number | null; retryAfterMs: number | null }
  /** `busy`: the server is still at work on an earlier sending under the same key. */
  | { effect: 'unknown'; status: number | null; busy: boolean; retryAfterMs: number | null }

/** Responses in the form of the API that say that the server looked at the request and did nothing. */
const REFUSED: ReadonlySet<number> = new Set([400, 404, 413, 415, 422])

/** A request that is rejected for its reference IDs created nothing. */
const REFERENCE_CODES: ReadonlySet<string | undefined> = new Set(Object.values(REFERENCE_ERRORS))

/**
 * Decides what the response to a creating request proves. What is neither known to have had an effect nor known to have
 * had none is unknown.
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
  // In any form: a proxy counts requests and looks at their length before it passes them on.
  if (status === 429 || isNotNow(sent)) return none('rate_limited')
  if (status === 413) return none('too_large')
  // A proxy may put a page of its own in the place of what the server said after the effect.
  if (!isErrorForm(json)) return { effect: 'unknown', status, busy: status === 409, retryAfterMs: wait }
  if (status === 401) return none('unauthorized')
  if (status === 403) return none('forbidden')
  if (REFERENCE_CODES.has(sent.headers[HEADERS.errorCode])) return none('refused')
  const isAboutKey = isIdempotencyError(sent, text ?? JSON.stringify(json) ?? '')
  if (!isAboutKey && REFUSED.has(status)) return none('refused')
  return { effect: 'unknown', status, busy: status === 409, retryAfterMs: wait }
}

/** The error of a request whose outcome is unknown, with where to look before it is repeated. */
export function unknownOutcome(name: string, reason: string, hint = 'it may exist already', cause?: unknown): GdnError {
  return new GdnError('unknown_outcome', `${name} was sent, and whether it took effect is unknown (${reason})`, {
    hint: `look before you repeat it: ${hint}`,
    details: { reason },
    cause,
  })
}
