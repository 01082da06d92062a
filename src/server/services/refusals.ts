import { ERROR_TITLES } from '../../api/errors.ts'
import { CHAIN_ERRORS, HEADERS } from '../../api/headers.ts'
import { type FieldIssue, formatIssue } from '../../api/validate.ts'
import { shorten } from '../../core/shorten.ts'

type Title = (typeof ERROR_TITLES)[keyof typeof ERROR_TITLES]

/** A rejection by a service, with an HTTP status and the two texts of error form A. */
export class Refusal extends Error {
  readonly status: number
  readonly title: Title
  readonly headers: Readonly<Record<string, string>>
  /** Machine-readable fields in addition to the two texts. */
  readonly details: Readonly<Record<string, unknown>>

  constructor(
    status: number,
    title: Title,
    message: string,
    headers: Readonly<Record<string, string>> = {},
    details: Readonly<Record<string, unknown>> = {},
  ) {
    super(message)
    this.name = 'Refusal'
    this.status = status
    this.title = title
    this.headers = headers
    this.details = details
  }
}

/** A rejection with its own code in error form B. */
export class CodedRefusal extends Refusal {
  readonly errorCode: string

  constructor(status: number, title: Title, errorCode: string, message: string) {
    super(status, title, message)
    this.name = 'CodedRefusal'
    this.errorCode = errorCode
  }
}

// Limit the size of the response, for example if a request has a million unknown fields.
const MAX_ISSUES = 50
const MAX_ISSUE_LENGTH = 1000

function formatIssues(issues: readonly FieldIssue[]): string {
  const shownIssues = issues.slice(0, MAX_ISSUES).map((issue) => shorten(formatIssue(issue), MAX_ISSUE_LENGTH))
  if (issues.length > MAX_ISSUES) shownIssues.push('and more problems')
  return shownIssues.join('; ')
}

/** A rejection of a request that violates its schema, with its problems (at most the first 50). */
export class InvalidRequest extends Refusal {
  readonly issues: readonly FieldIssue[]
  /** Whether the problems are in the body or in the URL's query. */
  readonly part: 'body' | 'query'

  constructor(status: 400 | 422, issues: readonly FieldIssue[], part: 'body' | 'query' = 'body') {
    super(status, ERROR_TITLES.validation, formatIssues(issues))
    this.name = 'InvalidRequest'
    this.part = part
    this.issues = issues.slice(0, MAX_ISSUES)
  }
}

/**
 * Returns a rejection caused by the backend's configuration. The response has a header that confirms that nothing was
 * accepted.
 */
export const nothingAcceptedError = (message: string) =>
  new Refusal(503, ERROR_TITLES.unavailable, message, { [HEADERS.requestAccepted]: 'no' })

/**
 * Returns a temporary rejection. The response has a header that confirms that nothing was accepted, because a 5xx alone
 * doesn't.
 *
 * @param seconds the Retry-After
 */
export const temporarilyUnavailableError = (message: string, seconds: number) =>
  new Refusal(503, ERROR_TITLES.unavailable, message, {
    [HEADERS.retryAfter]: String(seconds),
    [HEADERS.requestAccepted]: 'no',
  })

/**
 * Returns a rejection that applies until the operator funds a signer or sets up a network. The response has a header
 * that confirms that nothing was accepted.
 */
export function notReadyError(message: string, seconds: number): Refusal {
  const { status, title, headers } = temporarilyUnavailableError(message, seconds)
  return new Refusal(status, title, message, { ...headers, [HEADERS.errorCode]: CHAIN_ERRORS.notReady })
}

export const badRequestError = (message: string) => new Refusal(400, ERROR_TITLES.badRequest, message)

/** Returns a rejection of invalid or inconsistent fields. */
export function fieldIssuesError(issues: readonly FieldIssue[], status: 400 | 422): Refusal {
  const inconsistent = issues.find((issue) => issue.inconsistent)
  return inconsistent === undefined ? new InvalidRequest(status, issues) : badRequestError(formatIssue(inconsistent))
}
