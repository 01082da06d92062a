import { HEADERS, IDEMPOTENCY_ERRORS, REFERENCE_ERRORS, RUN_ERRORS } from '../api/headers.ts'
import { GdnError } from '../core/errors.ts'
import { isErrorForm, isForeignRefusal, isIdempotencyError, isNotNow, isNotReady } from './answers.ts'
import { retryAfterMs } from './retry.ts'

/** A response. `json` is undefined if the body isn't JSON; then `text` is the body. */
export interface Answered {
  kind: 'answered'
  status: number
  headers: Readonly<Record<string, string>>
  json: unknown
  text?: string
}

/** The result of sending a request once. */
export type Sent =
  | Answered
  /** Not a byte left this machine. `stop`: another backend listens at the address, so a retry can't help. */
  | { kind: 'not_sent'; reason: string; error?: unknown; stop?: GdnError | undefined }
  /** The outcome is unknown. */
  | { kind: 'cut'; reason: string; error?: unknown }

/** The request had no effect, and the same request may be accepted later. */
export interface NoEffect {
  outcome: 'no_effect'
  /** `other_label`: an NFT has another label, because a manifest of the same name was minted. */
  cause:
    | 'too_large'
    | 'not_sent'
    | 'rate_limited'
    | 'not_ready'
    | 'unauthorized'
    | 'forbidden'
    | 'max_cost'
    | 'other_label'
  status: number | null
  /** How long to wait until pending transactions may leave more of the limit, for `max_cost`. */
  retryAfterMs: number | null
}

export interface Unknown {
  outcome: 'unknown'
  cause: 'unknown'
  status: number | null
  /** The server still works on an earlier attempt with the same key. */
  busy: boolean
  /** The response came from something that does not implement the API. */
  foreign: boolean
  /** Our backend has accepted another request with the key. It didn't accept this attempt. */
  isKeyReused: boolean
  retryAfterMs: number | null
}

/** The outcome of one attempt, if it were the only one. */
export type Outcome =
  /** A success. The endpoint's contract decides whether its body proves acceptance. */
  | { outcome: 'accepted'; status: number }
  /** The server processed the request and accepted nothing. */
  | { outcome: 'refused'; status: number | null }
  | NoEffect
  | Unknown

/** An attempt whose outcome no response proves. */
export const UNKNOWN: Unknown = {
  ...{ outcome: 'unknown', cause: 'unknown' },
  ...{ status: null, busy: false, foreign: false, isKeyReused: false, retryAfterMs: null },
}

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
  if (sent.kind === 'cut') return UNKNOWN
  if (sent.kind === 'not_sent') return { outcome: 'no_effect', cause: 'not_sent', status: null, retryAfterMs: null }
  const { status, json, text, headers } = sent
  const wait = retryAfterMs(headers, wallClock)
  const none = (cause: NoEffect['cause']): Outcome => ({ outcome: 'no_effect', cause, status, retryAfterMs: wait })
  if (status >= 200 && status < 300) return { outcome: 'accepted', status }
  if (isNotReady(sent)) return none('not_ready')
  // In any form: a proxy checks rate and size before it forwards a request.
  if (status === 429 || isNotNow(sent)) return none('rate_limited')
  if (status === 413) return none('too_large')
  const busy = status === 409
  const unknown = { ...UNKNOWN, status, busy, foreign: !busy && isForeignRefusal(status, json), retryAfterMs: wait }
  // A proxy may replace the server's response with its own page, even after the request took effect.
  if (!isErrorForm(json)) return unknown
  if (status === 401) return none('unauthorized')
  if (status === 403) return none('forbidden')
  const code = headers[HEADERS.errorCode]
  if (code === REFERENCE_ERRORS.otherLabel) return none('other_label')
  if (REFERENCE_CODES.has(code)) return { outcome: 'refused', status }
  if (code === RUN_ERRORS.maxCost) return none('max_cost')
  if (status === 422 && code === IDEMPOTENCY_ERRORS.reused) return { ...unknown, isKeyReused: true }
  const isAboutKey = isIdempotencyError(sent, text ?? JSON.stringify(json) ?? '')
  return !isAboutKey && REFUSED.has(status) ? { outcome: 'refused', status } : unknown
}

/** The error for a request whose outcome is unknown, with a hint what to check before it is repeated. */
export function unknownOutcome(
  name: string,
  reason: string,
  hint = 'Check whether the request took effect before you repeat it.',
  cause?: unknown,
): GdnError {
  return new GdnError('unknown_outcome', `${name} was sent, but its outcome is unknown (${reason})`, {
    hint,
    details: { reason },
    cause,
  })
}
