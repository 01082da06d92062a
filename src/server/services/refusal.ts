import { TITLES } from '../../api/errors.ts'
import { CHAIN_ERRORS, HEADERS } from '../../api/headers.ts'
import { type FieldIssue, formatIssue } from '../../api/validate.ts'

type Title = (typeof TITLES)[keyof typeof TITLES]

/** Why the service rejects a request: an HTTP status and the two texts of error form A. */
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

// The response doesn't grow with the request: a million unknown fields aren't listed.
const MAX_ISSUES = 50
const MAX_ISSUE_LENGTH = 1000

function tell(issues: readonly FieldIssue[]): string {
  const shown = issues.slice(0, MAX_ISSUES).map((issue) => {
    const sentence = formatIssue(issue)
    return sentence.length <= MAX_ISSUE_LENGTH ? sentence : `${sentence.slice(0, MAX_ISSUE_LENGTH).toWellFormed()}…`
  })
  if (issues.length > MAX_ISSUES) shown.push('and more problems')
  return shown.join('; ')
}

/** A request that violates its schema, with its problems (at most the first 50). */
export class InvalidRequest extends Refusal {
  readonly issues: readonly FieldIssue[]
  /** Where the problems are: in the body, or in the URL's query. */
  readonly part: 'body' | 'query'

  constructor(status: 400 | 422, issues: readonly FieldIssue[], part: 'body' | 'query' = 'body') {
    super(status, TITLES.validation, tell(issues))
    this.name = 'InvalidRequest'
    this.part = part
    this.issues = issues.slice(0, MAX_ISSUES)
  }
}

/** A rejection because of the backend's configuration. Nothing was accepted, and the header says so too. */
export const nothingAccepted = (message: string) =>
  new Refusal(503, TITLES.unavailable, message, { [HEADERS.requestAccepted]: 'no' })

/**
 * A temporary rejection. Nothing was accepted, and the header says so too, since a 5xx alone leaves that open.
 *
 * @param seconds the Retry-After
 */
export const notNow = (message: string, seconds: number) =>
  new Refusal(503, TITLES.unavailable, message, {
    [HEADERS.retryAfter]: String(seconds),
    [HEADERS.requestAccepted]: 'no',
  })

/** A rejection until the operator of the backend has funded a signer or set a network up. Nothing was accepted. */
export function notReady(message: string, seconds: number): Refusal {
  const { status, title, headers } = notNow(message, seconds)
  return new Refusal(status, title, message, { ...headers, [HEADERS.errorCode]: CHAIN_ERRORS.notReady })
}

export const badRequest = (message: string) => new Refusal(400, TITLES.badRequest, message)

/** A rejection because of invalid or inconsistent fields. */
export function refusalOf(issues: readonly FieldIssue[], status: 400 | 422): Refusal {
  const inconsistent = issues.find((issue) => issue.inconsistent)
  return inconsistent === undefined ? new InvalidRequest(status, issues) : badRequest(formatIssue(inconsistent))
}
