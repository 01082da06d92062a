import { HEADERS, IDEMPOTENCY_ERRORS } from '../api/headers.ts'
import { GdnError } from '../core/errors.ts'
import { redactText } from '../core/redact.ts'
import type { TransportAnswer } from './transport.ts'

/** What stands in `details` of an error that the server's answer caused. */
export interface AnswerDetails {
  status: number
  title?: string
  message?: string
  /** Of form B: every fault with its place. */
  faults?: { field: string; message: string }[]
}

/** The HTTP status behind an error of this client, if an answer caused it. */
export function statusOf(error: unknown): number | undefined {
  if (!(error instanceof GdnError)) return undefined
  const { details } = error
  return details !== null && typeof details === 'object' && 'status' in details && typeof details.status === 'number'
    ? details.status
    : undefined
}

export function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    return undefined
  }
}

/** `502 text/html "<html><body>Bad gateway…"`: an answer as far as a person needs it to know what spoke. */
export function describeAnswer({ status, headers, body }: TransportAnswer): string {
  const type = headers['content-type'] ?? 'no content type'
  // Cut before it is redacted, half of a secret would not be recognised.
  const text = redactText(Buffer.from(body.subarray(0, 4096)).toString('utf8'))
    .replace(/\s+/g, ' ')
    .trim()
  if (text === '') return `${status}, an empty body`
  return `${status} ${type} "${text.length > 80 ? `${text.slice(0, 80)}…` : text}"`
}

/**
 * Whether an answer says that nothing was accepted, and the same request may be taken later. A 503 alone leaves that
 * open: a proxy may have given it. Only a backend of ours puts these headers with it.
 */
export function isNotNow({ status, headers }: Pick<TransportAnswer, 'status' | 'headers'>): boolean {
  return status === 503 && headers[HEADERS.requestAccepted] === 'no' && headers[HEADERS.idempotencySupported] === 'yes'
}

/** Request Timeout, Too Early, Too Many Requests. */
export const PASSING: ReadonlySet<number> = new Set([408, 425, 429])

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/** Whether JSON is an error of the API, in form A or B. By hand: a command that reads loads no schema for it. */
export function isErrorForm(json: unknown): boolean {
  if (!isObject(json)) return false
  const { error, errorCode, message, detail } = json
  if (isObject(error)) return typeof error.title === 'string' && typeof error.message === 'string'
  return typeof errorCode === 'string' && typeof message === 'string' && Array.isArray(detail)
}

/**
 * Whether a refusal is none of the API: a proxy may give it in the place of the server's response, also after the server
 * did what it was asked for.
 */
export const isForeignRefusal = (status: number, json: unknown): boolean =>
  status >= 400 && status < 500 && !PASSING.has(status) && !isErrorForm(json)

/** 409 and 422 by the draft of the header's standard; some services answer 400. */
const KEY_ERROR_STATUS = new Set([400, 409, 422])
const MAX_ERROR_TEXT = 10_000

/**
 * Whether an answer rejects the request for its Idempotency-Key: another request holds the key or has used it. That
 * says nothing of whether an earlier sending had an effect. Our backend names the error in a header; other servers use
 * a body of their own, so its text is searched.
 *
 * @param text the body of the answer
 */
export function isIdempotencyError(
  { status, headers }: Pick<TransportAnswer, 'status' | 'headers'>,
  text: string,
): boolean {
  if (!KEY_ERROR_STATUS.has(status)) return false
  const code = headers[HEADERS.errorCode]
  if (code?.startsWith('idempotency_') === true) return code !== IDEMPOTENCY_ERRORS.invalid
  return /idempoten(cy|t)/i.test(text.slice(0, MAX_ERROR_TEXT))
}

/** An answer that no API of this contract gives. */
export function badAnswer(url: string, answer: TransportAnswer, fault = 'an answer that is none of the API'): GdnError {
  const redirected = answer.status >= 300 && answer.status < 400
  return new GdnError('bad_answer', `${url} gave ${fault}: ${describeAnswer(answer)}`, {
    hint: redirected
      ? `redirects are not followed; it points to ${answer.headers.location ?? 'nowhere'}. Is the base URL right?`
      : answer.status >= 500
        ? 'the server has a problem; try again later'
        : 'check the base URL: something else may be answering there',
    details: { status: answer.status } satisfies AnswerDetails,
  })
}
