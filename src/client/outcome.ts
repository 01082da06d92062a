import {
  HEADERS,
  IDEMPOTENCY_ERRORS,
  REFERENCE_ERRORS,
  RUN_ERRORS,
  SHUFFLE_ERRORS,
  SUPPLY_ERRORS,
} from '../api/headers.ts'
import { GdnError } from '../core/errors.ts'
import {
  isBackendNotReady,
  isErrorForm,
  isForeignRefusal,
  isIdempotencyError,
  isTemporaryRefusal,
} from './responses.ts'
import { retryAfterMs } from './retry-read.ts'

/** A response. If the body isn't JSON, `json` is undefined, and `text` is the body. */
export interface ReceivedResponse {
  kind: 'answered'
  status: number
  headers: Readonly<Record<string, string>>
  json: unknown
  text?: string
}

/** The result of sending a request once. */
export type SendOnceResult =
  | ReceivedResponse
  /**
   * Nothing was sent. `stop` is set if a retry can't help, for example because another backend listens at the address.
   */
  | { kind: 'not_sent'; reason: string; error?: unknown; stop?: GdnError | undefined }
  /** The outcome is unknown. */
  | { kind: 'cut'; reason: string; error?: unknown }

/** The request had no effect, and the same request may be accepted later. */
export interface NoEffectOutcome {
  outcome: 'no_effect'
  /**
   * Reason why the request had no effect. `other_label` means that an NFT has a different label, because another
   * manifest with the same name was minted.
   */
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
  /**
   * The wait in milliseconds before a retry. For `max_cost`, pending transactions may release part of the limit by
   * then.
   */
  retryAfterMs: number | null
}

export interface UnknownOutcome {
  outcome: 'unknown'
  cause: 'unknown'
  status: number | null
  /** Whether the server is still processing an earlier attempt with the same key. */
  busy: boolean
  /** Whether the response came from a server that doesn't implement the API. */
  foreign: boolean
  /**
   * Whether a gdn backend has accepted another request with the same key. If so, the backend didn't accept this
   * attempt.
   */
  isKeyReused: boolean
  retryAfterMs: number | null
}

/** The outcome that one attempt proves, regardless of other attempts. */
export type AttemptOutcome =
  /** The status is 2xx. The endpoint's schema decides whether the body proves acceptance. */
  | { outcome: 'accepted'; status: number }
  /** The server processed the request and accepted nothing. */
  | { outcome: 'refused'; status: number | null }
  | NoEffectOutcome
  | UnknownOutcome

/** The outcome of an attempt without a conclusive response. */
export const UNKNOWN_OUTCOME: UnknownOutcome = {
  outcome: 'unknown',
  cause: 'unknown',
  status: null,
  busy: false,
  foreign: false,
  isKeyReused: false,
  retryAfterMs: null,
}

/** Statuses that, in the API's error form, mean that the server processed the request and did nothing. */
const REFUSED_STATUSES: ReadonlySet<number> = new Set([400, 404, 413, 415, 422])

/** Error codes of a 409 or 422 response that proves that the request created nothing. */
const REFUSED_CODES: ReadonlySet<string | undefined> = new Set([
  ...Object.values(REFERENCE_ERRORS),
  ...Object.values(SUPPLY_ERRORS),
  ...Object.values(SHUFFLE_ERRORS),
])

/**
 * Determines what the response to a creating request proves. The outcome is unknown unless the response proves that the
 * request took effect or that it didn't.
 *
 * @param wallClock current time in milliseconds, for a Retry-After header that contains a date
 */
export function attemptOutcome(sent: SendOnceResult, wallClock: number): AttemptOutcome {
  if (sent.kind === 'cut') return UNKNOWN_OUTCOME
  if (sent.kind === 'not_sent') return { outcome: 'no_effect', cause: 'not_sent', status: null, retryAfterMs: null }
  const { status, json, text, headers } = sent
  const wait = retryAfterMs(headers, wallClock)
  const none = (cause: NoEffectOutcome['cause']): AttemptOutcome => ({
    outcome: 'no_effect',
    cause,
    status,
    retryAfterMs: wait,
  })
  if (status >= 200 && status < 300) return { outcome: 'accepted', status }
  if (isBackendNotReady(sent)) return none('not_ready')
  // These statuses are conclusive with any body, because a proxy checks rate and size before it forwards a request.
  if (status === 429 || isTemporaryRefusal(sent)) return none('rate_limited')
  if (status === 413) return none('too_large')
  const busy = status === 409
  const unknown = {
    ...UNKNOWN_OUTCOME,
    status,
    busy,
    foreign: !busy && isForeignRefusal(status, json),
    retryAfterMs: wait,
  }
  // A proxy may replace the server's response with its own page, even after the request took effect.
  if (!isErrorForm(json)) return unknown
  if (status === 401) return none('unauthorized')
  if (status === 403) return none('forbidden')
  const code = headers[HEADERS.errorCode]
  if (code === REFERENCE_ERRORS.otherLabel) return none('other_label')
  if (REFUSED_CODES.has(code)) return { outcome: 'refused', status }
  if (code === RUN_ERRORS.maxCost) return none('max_cost')
  if (status === 422 && code === IDEMPOTENCY_ERRORS.reused) return { ...unknown, isKeyReused: true }
  const isAboutKey = isIdempotencyError(sent, text ?? JSON.stringify(json) ?? '')
  return !isAboutKey && REFUSED_STATUSES.has(status) ? { outcome: 'refused', status } : unknown
}

/**
 * Returns the error for a request whose outcome is unknown. The hint says what to check before you repeat the request.
 */
export function unknownOutcomeError(
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
