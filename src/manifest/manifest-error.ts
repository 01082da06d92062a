import { type ErrorCode, GdnError } from '../core/errors.ts'
import type { ManifestIssue } from './row.ts'

/** An error after which the rest of a manifest can't be read. `readManifest` returns it as its last issue. */
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
 * Returns the error for one or more problems. The first problem is its message, and `details.issues` has all of them.
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
