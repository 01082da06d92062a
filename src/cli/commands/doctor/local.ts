import { findRunningBackend, isDataDirectory, readLocalApiKey } from '../../../config/local-backend.ts'
import { localDataDirectory } from '../../../config/paths.ts'
import type { Server } from '../../../config/server.ts'
import { GdnError, messageOf } from '../../../core/errors.ts'
import { requestReadiness } from '../../connect/backend-ready.ts'
import type { Deps } from '../../deps.ts'
import { VERSION } from '../../version.ts'
import { type Finding, fail, ok, warn } from './finding.ts'
import { readinessFindings } from './readiness.ts'

const LOG_FIX = 'Run `gdn local logs` to show its log.'
const RESTART_FIX = 'Run `gdn local stop && gdn local start` to restart it.'

/**
 * Checks the backend of `gdn local start`. It isn't a problem if the backend is stopped.
 *
 * @param server the server whose readiness was already checked. If this is the local backend, its problems aren't
 * repeated.
 */
export async function checkLocalBackend({ env, signals }: Deps, server: Server | null): Promise<Finding[]> {
  const check = 'local backend'
  const dataDir = localDataDirectory(env)
  const backend = await findRunningBackend(dataDir)
  if (backend === null) {
    return [ok(check, (await isDataDirectory(dataDir)) ? `not running; its data is in ${dataDir}` : 'never started')]
  }
  try {
    await readLocalApiKey(dataDir)
    const isAsked = server?.isLoopback === true && new URL(server.baseUrl).port === new URL(backend.url).port
    const serves =
      backend.version === VERSION
        ? ok(check, `listens on ${backend.url}`)
        : warn(check, `listens on ${backend.url}, but runs gdn ${backend.version} instead of ${VERSION}`, RESTART_FIX)
    if (isAsked) return [serves]
    const { status, body } = await requestReadiness(backend.url, signals.signal)
    const findings = readinessFindings(check, body, LOG_FIX)
    if (findings.length > 0) return findings
    return [status === 200 ? serves : warn(check, `is not ready: HTTP ${status}`, LOG_FIX)]
  } catch (error) {
    if (error instanceof GdnError) return [fail(check, error)]
    const message = `process ${backend.pid} does not respond on ${backend.url}: ${messageOf(error)}`
    return [fail(check, new GdnError('unreachable', message, { hint: RESTART_FIX }))]
  }
}
