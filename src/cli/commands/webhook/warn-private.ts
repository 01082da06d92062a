import { findRunningBackend } from '../../../config/local-backend.ts'
import { type DataDirFlags, resolveDatabase } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'

/**
 * Warns that a backend may not deliver to a private URL, unless this machine's running backend has
 * --allow-private-files.
 */
export async function warnOfPrivateAddress(deps: Deps, flags: DataDirFlags): Promise<void> {
  const { dataDir, database } = resolveDatabase(deps, flags)
  const running = database.url === undefined ? await findRunningBackend(dataDir) : null
  if (running?.options?.['--allow-private-files'] === true) return
  deps.io.warn(
    'Only a backend with --allow-private-files delivers to a private address, or to a port other than 80 and 443.',
  )
}
