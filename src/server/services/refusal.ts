import { TITLES } from '../../api/errors.ts'
import { HEADERS } from '../../api/headers.ts'
import { type FieldIssue, formatIssue } from '../../api/validate.ts'

type Title = (typeof TITLES)[keyof typeof TITLES]

/** Why the service won't do what it was asked: an HTTP status and the two texts of error form A. */
export class Refusal extends Error {
  readonly status: number
  readonly title: Title
  readonly headers: Readonly<Record<string, string>>
  /** Fields for programs, beside the two texts. */
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

/** A refusal that error form B names by a code of its own. */
export class CodedRefusal extends Refusal {
  readonly errorCode: string

  constructor(status: number, title: Title, errorCode: string, message: string) {
    super(status, title, message)
    this.name = 'CodedRefusal'
    this.errorCode = errorCode
  }
}

// An answer doesn't grow with the request: names of a million unknown fields help nobody.
const MAX_ISSUES = 50
const MAX_ISSUE_LENGTH = 1000

function tell(issues: readonly FieldIssue[]): string {
  const shown = issues.slice(0, MAX_ISSUES).map((issue) => {
    const sentence = formatIssue(issue)
    return sentence.length <= MAX_ISSUE_LENGTH ? sentence : `${sentence.slice(0, MAX_ISSUE_LENGTH).toWellFormed()}…`
  })
  if (issues.length > MAX_ISSUES) shown.push(`and ${issues.length - MAX_ISSUES} more faults`)
  return shown.join('; ')
}

/** A request that breaks its schema, with its problems (the first 50 of very many). */
export class InvalidRequest extends Refusal {
  readonly issues: readonly FieldIssue[]
  /** Where the faults are: in the body, or in the URL's query. */
  readonly part: 'body' | 'query'

  constructor(status: 400 | 422, issues: readonly FieldIssue[], part: 'body' | 'query' = 'body') {
    super(status, TITLES.validation, tell(issues))
    this.name = 'InvalidRequest'
    this.part = part
    this.issues = issues.slice(0, MAX_ISSUES)
  }
}

/** What this backend can't do as it is: nothing was accepted, which the header says too. */
export const nothingAccepted = (message: string) =>
  new Refusal(503, TITLES.unavailable, message, { [HEADERS.requestAccepted]: 'no' })

/**
 * What can't be done at the moment: nothing was accepted, which the header says too, since a 5xx alone leaves that open.
 *
 * @param seconds after which to ask again
 */
export const notNow = (message: string, seconds: number) =>
  new Refusal(503, TITLES.unavailable, message, {
    [HEADERS.retryAfter]: String(seconds),
    [HEADERS.requestAccepted]: 'no',
  })

export const badRequest = (message: string) => new Refusal(400, TITLES.badRequest, message)

/** Why a request isn't taken whose fields are at fault, or don't go together. */
export function refusalOf(issues: readonly FieldIssue[], status: 400 | 422): Refusal {
  const inconsistent = issues.find((issue) => issue.inconsistent)
  return inconsistent === undefined ? new InvalidRequest(status, issues) : badRequest(formatIssue(inconsistent))
}
