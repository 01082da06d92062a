import { GdnError, type Place } from '../../core/errors.ts'
import type { ManifestIssue } from '../../manifest/row.ts'
import { STORAGE_HINT } from '../connect/with-storage.ts'

const MAX_LISTED_FILES = 1000

/** The local files of a manifest and the rows that refer to them, collected while the manifest is read. */
export class LocalFiles {
  firstFiles: { path: string; place: Place }[] = []
  count = 0

  /** Starts a pass over the manifest. Returns a function that adds a file. */
  startPass(): (path: string, place: Place) => void {
    this.firstFiles = []
    this.count = 0
    return (path, place) => {
      this.count++
      if (this.firstFiles.length < MAX_LISTED_FILES) this.firstFiles.push({ path, place })
    }
  }
}

/** Creates the error for local files that can't be stored. Its issues list the first rows that refer to such files. */
export function noStorageError(origin: string, files: LocalFiles | null): GdnError {
  const why = `${origin} accepts no uploads, and the profile has no storage`
  const issues = (files?.firstFiles ?? []).map(
    ({ path, place }): ManifestIssue => ({ place, message: `${path} is a local file: ${why}` }),
  )
  const [first] = issues
  const more = (files?.count ?? 0) > 1 ? ` (and ${(files?.count ?? 0) - 1} more)` : ''
  return new GdnError(
    'invalid_manifest',
    first === undefined ? `rows have local files: ${why}` : first.message + more,
    {
      place: first?.place,
      hint: STORAGE_HINT,
      details: { issues, issue_count: files?.count ?? null },
    },
  )
}
