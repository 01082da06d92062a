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
