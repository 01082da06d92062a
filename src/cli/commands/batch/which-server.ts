import type { Deps } from '../../deps.ts'
import type { ServerFlags } from '../../flags/common.ts'
import { LOOPBACK_ORIGIN, runOrigin } from '../../run-origin.ts'

/** The origin whose runs are meant, where a flag names the server; any server's otherwise. None needs to answer. */
export async function whichServer(deps: Deps, flags: ServerFlags): Promise<string | undefined> {
  if (flags.local || flags.profile === 'local') return LOOPBACK_ORIGIN
  if (flags.baseUrl === undefined && flags.profile === undefined) return undefined
  return runOrigin(await (await deps.settings(flags)).server())
}
