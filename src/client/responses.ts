import { CAPABILITIES, CHAIN_ERRORS, HEADERS, IDEMPOTENCY_ERRORS, SHUFFLE_ERRORS } from '../api/headers.ts'
import { GdnError } from '../core/errors.ts'
import { isTemporaryStatus } from '../core/http-status.ts'
import { isObject } from '../core/json.ts'
import { redactText } from '../core/redact.ts'
import { shorten } from '../core/shorten.ts'
import type { TransportResponse } from './transport.ts'

/** The `details` of an error caused by the server's response. */
export interface ResponseDetails {
  status: number
  title?: string
  message?: string
  /** All problems with their locations. Set only for form B of the API's errors. */
  faults?: { field: string; message: string }[]
}

/** Returns the HTTP status of the response that caused an error, or undefined if no response did. */
export function findStatus(error: unknown): number | undefined {
  if (!(error instanceof GdnError)) return undefined
  const { details } = error
  return details !== null && typeof details === 'object' && 'status' in details && typeof details.status === 'number'
    ? details.status
    : undefined
}

/** Returns whether an error means that a drop can't be sealed yet. */
export const isDropNotFinalError = (error: unknown): boolean =>
  error instanceof GdnError && isObject(error.details) && error.details.code === SHUFFLE_ERRORS.notFinal

/** Returns whether a response, or the error for it, means that the server lacks the endpoint (404 or 405). */
export function lacksEndpoint(response: unknown): boolean {
  const status = typeof response === 'number' ? response : findStatus(response)
  return status === 404 || status === 405
}

/** Returns a description of a response for messages: `502 text/html "<html><body>Bad gateway…"`. */
export function describeResponse({ status, headers, body }: TransportResponse): string {
  const type = headers['content-type'] ?? 'no content type'
  // Redact before truncating, because a truncated secret would not be recognized.
  const text = redactText(Buffer.from(body.subarray(0, 4096)).toString('utf8'))
    .replace(/\s+/g, ' ')
    .trim()
  if (text === '') return `${status}, an empty body`
  return `${status} ${type} "${shorten(text, 80)}"`
}

/**
 * Returns whether a response proves that nothing was accepted and that the same request may be accepted later. The
 * status 503 alone doesn't prove that, because it may come from a proxy. The required headers come only from gdn
 * backends.
 */
export function isTemporaryRefusal({ status, headers }: Pick<TransportResponse, 'status' | 'headers'>): boolean {
  return status === 503 && headers[HEADERS.requestAccepted] === 'no' && headers[CAPABILITIES.idempotency] === 'yes'
}

/** Returns whether the backend accepts nothing until its operator has acted. */
export const isBackendNotReady = (response: Pick<TransportResponse, 'status' | 'headers'>): boolean =>
  isTemporaryRefusal(response) && response.headers[HEADERS.errorCode] === CHAIN_ERRORS.notReady

/**
 * Returns whether JSON has form A or B of the API's errors. Doesn't use the schema, so that read-only commands don't
 * need to load it.
 */
export function isErrorForm(json: unknown): boolean {
  if (!isObject(json)) return false
  const { error, errorCode, message, detail } = json
  if (isObject(error)) return typeof error.title === 'string' && typeof error.message === 'string'
  return typeof errorCode === 'string' && typeof message === 'string' && Array.isArray(detail)
}

/**
 * Returns whether a 4xx response didn't come from the API. A proxy may send such a response instead of the server's
 * response, even after the server has processed the request.
 */
export const isForeignRefusal = (status: number, json: unknown): boolean =>
  status >= 400 && !isTemporaryStatus(status) && !isErrorForm(json)

/** Statuses of errors about the Idempotency-Key: 409 and 422 in the draft standard, 400 in some services. */
const KEY_ERROR_STATUS = new Set([400, 409, 422])
const MAX_ERROR_TEXT = 10_000

/**
 * Returns whether a response rejects the request because of its Idempotency-Key: another request is using or has used
 * the key. Such a response proves nothing about an earlier attempt. gdn backends name the error in a header. Other
 * servers use various formats, so the function searches the body.
 *
 * @param text the body of the response
 */
export function isIdempotencyError(
  { status, headers }: Pick<TransportResponse, 'status' | 'headers'>,
  text: string,
): boolean {
  if (!KEY_ERROR_STATUS.has(status)) return false
  const code = headers[HEADERS.errorCode]
  if (code?.startsWith('idempotency_') === true) return code !== IDEMPOTENCY_ERRORS.invalid
  return /idempoten(cy|t)/i.test(text.slice(0, MAX_ERROR_TEXT))
}

/** Returns the error for a response that doesn't match the API's schema. */
export function badResponseError(
  url: string,
  response: TransportResponse,
  fault = 'a response that is not from the API',
): GdnError {
  const redirected = response.status >= 300 && response.status < 400
  const to = response.headers.location === undefined ? '' : ` to ${response.headers.location}`
  return new GdnError('bad_answer', `${url} returned ${fault}: ${describeResponse(response)}`, {
    hint: redirected
      ? `The server redirected the request${to}, and gdn does not follow redirects. Check the base URL.`
      : // A web server that doesn't support POST, for example, returns 501.
        response.status >= 500 && response.status !== 501
        ? 'The server returned an error. Try again later.'
        : 'Check the base URL: another server may be listening there.',
    details: { status: response.status } satisfies ResponseDetails,
  })
}
