import { changesSince } from '../../../batch/manifest-changes.ts'
import { fileExists, type Run } from '../../../batch/run-files.ts'
import { GdnError } from '../../../core/errors.ts'
import { readManifest } from '../../../manifest/read.ts'
import type { Deps } from '../../deps.ts'
import { safe } from '../../io/io.ts'
import { count } from '../../request/waiting.ts'
import { manifestOptions } from './manifest-options.ts'

const MAX_SHOWN = 5

/** Warns where the manifest of a run differs from the rows that the run has planned, and sends as they are. */
export async function warnOfEdits(deps: Deps, run: Run): Promise<void> {
  const { manifestPath, blockchain, contractAddress } = run
  if (manifestPath === null || !(await fileExists(manifestPath))) return
  const options = { ...(await manifestOptions(deps, {})), ...run.reading, blockchain, contractAddress }
  const { io } = deps
  const name = safe(manifestPath)
  const mint = `To send the manifest as it is now, run gdn batch mint ${name}.`
  try {
    const changes = await changesSince(run, readManifest({ path: manifestPath }, options))
    if (changes === null) return
    const { added, changed, removed, examples } = changes
    io.warn(
      `${name} has changed since the run was planned: ${count(added, 'row')} added, ${changed} changed, ${removed} removed.`,
    )
    for (const { kind, key, line } of examples.slice(0, MAX_SHOWN)) io.warn(`  ${kind}: ${safe(key)} (line ${line})`)
    if (examples.length > MAX_SHOWN) io.warn(`  and ${added + changed + removed - MAX_SHOWN} more`)
    io.warn(`The run goes on with the planned rows. ${mint}`)
  } catch (error) {
    if (!(error instanceof GdnError) || error.code !== 'invalid_manifest') throw error
    io.warn(`${name} has changed since the run was planned, and has errors now: ${safe(error.message)}`)
    io.warn(`The run goes on with the planned rows. Check it with gdn batch validate ${name}.`)
  }
}
