import type { PlannedEvent } from '../../batch/types.ts'
import type { Server } from '../../config/server.ts'
import { count } from '../../core/count.ts'
import { formatProblem, type GdnError, messageOf, type Place } from '../../core/errors.ts'
import type { UrlFinding } from '../../files/check-urls.ts'
import type { Prober } from '../../files/prober.ts'
import { issuesError } from '../../manifest/manifest-error.ts'
import type { ManifestIssue } from '../../manifest/row.ts'
import type { Connection, Deps } from '../deps.ts'
import { type Io, safe } from '../io/io.ts'
import { VERSION } from '../version.ts'
import { type LocalFiles, noStorageError } from './local-files.ts'

/** The place where a manifest first uses a file URL, and the number of uses. A row can use a URL more than once. */
interface UrlUse {
  place: Place
  uses: number
}

export class FileUrls {
  readonly uses = new Map<string, UrlUse>()

  /** Starts a pass over the manifest. Returns a function that adds a URL. */
  begin(): (url: string, place: Place) => void {
    this.uses.clear()
    return (url, place) => {
      const use = this.uses.get(url)
      if (use === undefined) this.uses.set(url, { place, uses: 1 })
      else use.uses++
    }
  }
}

export interface FileCheck {
  checked: number
  errors: ManifestIssue[]
  warnings: ManifestIssue[]
}

/**
 * Requests each file URL once. Returns a problem for each URL that the server probably can't fetch, located at its
 * first use.
 *
 * @param server the server that will mint the manifest; null if unknown
 */
export async function checkFiles(deps: Deps, files: FileUrls, server: Server | null): Promise<FileCheck> {
  const total = files.uses.size
  if (total === 0) return { checked: 0, errors: [], warnings: [] }
  const [{ checkUrls }, { createProber }] = await Promise.all([
    import('../../files/check-urls.ts'),
    import('../../files/prober.ts'),
  ])
  const userAgent = `gdn/${VERSION}`
  const prober = createProber({ allowPrivate: false, userAgent })
  const lenientProber = createProber({ allowPrivate: true, userAgent })
  const isOwn = server?.isLoopback === true
  const findings: UrlFinding[] = []
  let checked = 0
  const text = () => `Checking ${count(total, 'URL')}: ${checked} done, ${count(findings.length, 'problem')}`
  const progress = await deps.io.progress(text())
  try {
    await checkUrls(files.uses.keys(), {
      prober,
      lenientProber: isOwn ? lenientProber : null,
      onFinding: (finding) => findings.push(finding),
      onChecked() {
        checked++
        progress.update(text())
      },
      signal: deps.signals.signal,
      ...(isOwn ? { checkIpfs: (url, signal) => warnOfUnstoredFile(lenientProber, server, url, signal) } : {}),
    })
  } finally {
    progress.stop()
    await Promise.all([prober.close(), lenientProber.close()])
  }
  const issues = (severity: UrlFinding['severity']) =>
    findings.filter((finding) => finding.severity === severity).map((finding) => asIssue(finding, files))
  return { checked, errors: sortByPlace(issues('error')), warnings: sortByPlace(issues('warning')) }
}

/** Returns the file problems as one error; null if there are none. */
export function toFilesError({ errors, warnings }: FileCheck): GdnError | null {
  return errors.length === 0 ? null : issuesError('invalid_manifest', errors, errors.length, { warnings })
}

const MAX_WARNINGS_SHOWN = 50

/** Prints the first warnings and their hints. */
export function printWarnings(io: Io, { warnings }: Pick<FileCheck, 'warnings'>): void {
  for (const warning of warnings.slice(0, MAX_WARNINGS_SHOWN)) {
    printWarning(io, warning)
    if (warning.hint !== undefined) io.warn(`  ${safe(warning.hint)}`)
  }
  const unlisted = warnings.length - MAX_WARNINGS_SHOWN
  if (unlisted > 0) io.warn(`  … and ${count(unlisted, 'more warning')}; --json lists them`)
}

export const printWarning = (io: Io, warning: ManifestIssue): void =>
  io.warn(`${io.errPaint.busy('warning:')} ${safe(formatProblem(warning))}`)

/**
 * Returns a warning if gdn's own backend doesn't store the file of an `ipfs://` URL. The backend's IPFS node may still
 * have the file.
 */
async function warnOfUnstoredFile(
  lenient: Prober,
  { baseUrl, origin }: Server,
  url: string,
  signal: AbortSignal | undefined,
): Promise<Omit<UrlFinding, 'url'> | null> {
  try {
    await lenient.probe(`${baseUrl}/ipfs/${url.slice('ipfs://'.length)}`, signal)
    return null
  } catch (error) {
    if (!/ returned 40[04] /.test(messageOf(error))) return null
    return {
      severity: 'warning',
      message: `${url} is not stored at ${origin}, so the server needs an IPFS node or gateway to fetch the file`,
    }
  }
}

function asIssue({ url, message, hint }: UrlFinding, files: FileUrls): ManifestIssue {
  const use = files.uses.get(url)
  const uses = use?.uses ?? 1
  return {
    place: use?.place ?? {},
    message: uses === 1 ? message : `${message} (used ${uses} times)`,
    hint,
  }
}

const sortByPlace = (issues: ManifestIssue[]): ManifestIssue[] =>
  issues.sort((a, b) => (a.place.line ?? 0) - (b.place.line ?? 0) || (a.place.column ?? 0) - (b.place.column ?? 0))

interface PlannedFiles {
  client: Connection['client']
  server: Server
  files: FileUrls | null
  localFiles: LocalFiles | null
}

/**
 * Checks that local files can be stored and, if requested, that file URLs can be read. Returns the warnings that it
 * printed.
 */
export async function checkPlannedFiles(
  deps: Deps,
  planned: PlannedEvent,
  { client, server, files, localFiles }: PlannedFiles,
): Promise<ManifestIssue[]> {
  if (planned.files > 0 && !(await client.hasPlaceForFiles(deps.signals.signal))) {
    throw noStorageError(server.origin, localFiles)
  }
  if (files === null) return []
  const check = await checkFiles(deps, files, server)
  printWarnings(deps.io, check)
  const problem = toFilesError(check)
  if (problem !== null) throw problem
  return check.warnings
}
