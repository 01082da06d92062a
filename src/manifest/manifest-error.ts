import { type ErrorCode, GdnError, type Place } from '../core/errors.ts'
import type { Column } from './columns.ts'
import type { ManifestIssue } from './row.ts'

/** An error after which the rest of a manifest can't be read. `readManifest` returns the error as its last issue. */
export class ManifestError extends Error {
  readonly issue: ManifestIssue
  /** The line in the file, if the issue has a row number instead. */
  readonly fileLine: number | undefined

  constructor(issue: ManifestIssue, fileLine?: number) {
    super(issue.message)
    this.issue = issue
    this.fileLine = fileLine
  }
}

/**
 * Returns the error for one or more problems. The message is the first problem, and `details.issues` contains all
 * problems.
 *
 * @param issueCount the number of problems, if there are more than `issues`
 */
export function issuesError(
  code: ErrorCode,
  issues: readonly ManifestIssue[],
  issueCount: number = issues.length,
  details: object = {},
): GdnError {
  const [first] = issues
  const more = issueCount > 1 ? ` (and ${issueCount - 1} more)` : ''
  return new GdnError(code, `${first?.message ?? 'invalid'}${more}`, {
    place: first?.place,
    hint: first?.hint,
    details: { issues, issue_count: issueCount, ...details },
  })
}

const MAX_ISSUES_PER_ROW = 20

/**
 * Returns the message for a name such as `@alice` without an address. Most of these messages begin with the field name.
 */
export const addFieldName = (field: string, { message }: { message: string }): string =>
  message.startsWith('@') ? `${field} ${message}` : message

/** Collects the problems of one row. Each problem has a column, or a field without a column. */
export class RowReport {
  readonly issues: ManifestIssue[] = []
  /** The line on which the row begins. */
  line = 1
  readonly #file: string
  readonly #kinds: Set<string>

  /** @param reported columns whose problems were already reported */
  constructor(file: string, reported: ReadonlySet<string>) {
    this.#file = file
    this.#kinds = new Set(reported)
  }

  /** Returns whether this column or field, or a column with this meaning, has a problem. */
  has(name: string): boolean {
    return this.#kinds.has(name) || this.issues.some(({ place }) => place.field === name)
  }

  toPlace(at: Column | string | null): Place {
    const place: Place = { file: this.#file, line: this.line }
    if (typeof at === 'string') {
      if (at !== '') place.field = at
    } else if (at !== null) {
      if (at.position !== undefined) place.column = at.position
      place.field = at.name
    }
    return place
  }

  add(at: Column | string | null, message: string, hint?: string): void {
    if (this.issues.length >= MAX_ISSUES_PER_ROW) return
    if (at !== null && typeof at !== 'string') this.#kinds.add(at.role.kind)
    this.issues.push({ place: this.toPlace(at), message, hint })
  }
}
