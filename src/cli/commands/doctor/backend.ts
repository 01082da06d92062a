import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { rejectOnAbort } from '../../../core/or-aborted.ts'
import type { CheckResult } from '../../../server/checkup/check-result.ts'
import { resolveDatabase } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { VERSION } from '../../version.ts'
import { type Finding, fail, ok, warn } from './finding.ts'

export interface BackendFlags {
  dataDir?: string
  config?: string
  databaseUrl?: string
}

/**
 * Checks the database, storage and networks of a backend that is selected by a flag, the environment, or the
 * configuration in the data directory. Returns no findings for a local backend without configuration, because it uses
 * nothing that could be unreachable.
 */
export async function diagnoseBackend(deps: Deps, flags: BackendFlags): Promise<Finding[]> {
  const place = resolveDatabase(deps, flags)
  const isNamed = flags.dataDir !== undefined || place.settingsFile !== undefined || place.database.url !== undefined
  if (!isNamed && !existsSync(join(place.dataDir, 'backend.yaml'))) return []
  const { checkUp } = await import('../../../server/checkup/checkup.ts')
  const checks = await rejectOnAbort(
    checkUp({
      ...place,
      credentialsDirectory: deps.env.CREDENTIALS_DIRECTORY,
      env: deps.env,
      userAgent: `gdn/${VERSION}`,
      now: deps.now,
    }),
    deps.signals.signal,
  )
  return checks.map(toFinding)
}

function toFinding(examined: CheckResult): Finding {
  if (examined.status === 'fail') return fail(examined.check, examined.error)
  const { check, message } = examined
  return examined.status === 'ok' ? ok(check, message) : warn(check, message, examined.fix)
}
