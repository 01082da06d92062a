import type { ManifestIssue } from './row.ts'

/** A fault after which the rest of a manifest can't be read: `readManifest` gives it out as its last issue. */
export class ManifestFault extends Error {
  readonly issue: ManifestIssue

  constructor(issue: ManifestIssue) {
    super(issue.message)
    this.issue = issue
  }
}
