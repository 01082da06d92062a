import { TITLES } from '../../api/errors.ts'
import { type FieldIssue, formatIssue } from '../../api/validate.ts'

type Title = (typeof TITLES)[keyof typeof TITLES]

/** Why the service won't do what it was asked: an HTTP status and the two texts of error form A. */
export class Refusal extends Error {
  readonly status: number
  readonly title: Title
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, title: Title, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.name = 'Refusal'
    this.status = status
    this.title = title
    this.headers = headers
  }
}

/** A request that breaks its schema, every fault of it. */
export class InvalidRequest extends Refusal {
  readonly issues: readonly FieldIssue[]

  constructor(status: 400 | 422, issues: readonly FieldIssue[]) {
    super(status, TITLES.validation, issues.map(formatIssue).join('; '))
    this.name = 'InvalidRequest'
    this.issues = issues
  }
}

export const badRequest = (message: string) => new Refusal(400, TITLES.badRequest, message)
