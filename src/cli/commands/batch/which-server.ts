import type { Run } from '../../../batch/runs.ts'
import type { Server } from '../../../config/server.ts'
import type { Settings } from '../../../config/settings.ts'
import { GdnError } from '../../../core/errors.ts'
import type { Deps } from '../../deps.ts'
import type { ServerFlags } from '../../flags/common.ts'
import { LOOPBACK_ORIGIN, runOrigin } from '../../run-origin.ts'

/** The origin whose runs are meant, where a flag names the server; any server's otherwise. None needs to answer. */
export async function whichServer(deps: Deps, flags: ServerFlags): Promise<string | undefined> {
  if (flags.local || flags.profile === 'local') return LOOPBACK_ORIGIN
  if (flags.baseUrl === undefined && flags.profile === undefined) return undefined
  return runOrigin(await (await deps.settings(flags)).server())
}

/** A run goes on where it began: at its own server, however that is named now. */
export async function settingsOfRun<Flags extends ServerFlags>(
  deps: Deps,
  { origin }: Run,
  flags: Flags,
): Promise<Settings> {
  const isNamed = flags.local || flags.baseUrl !== undefined || flags.profile !== undefined
  const settings = await deps.settings(flags)
  const server = await settings.server().catch((error: unknown) => {
    if (isNamed) throw error
    return null
  })
  if (server !== null && runOrigin(server) === origin) return settings
  if (isNamed) {
    throw new GdnError('usage', `this run belongs to ${origin}, not to ${server?.origin}`, {
      hint: `leave ${server?.from ?? 'the server'} out, or add ${origin === LOOPBACK_ORIGIN ? '--local' : `--base-url ${origin}`}`,
    })
  }
  if (origin === LOOPBACK_ORIGIN) return await deps.settings({ ...flags, local: true })
  return await deps.settings({ ...flags, baseUrl: origin })
}

/** The server of a run, or null where it can't be told now: the local backend may not run. */
export async function serverOfRun(deps: Deps, run: Run, flags: ServerFlags): Promise<Server | null> {
  return await (await settingsOfRun(deps, run, flags)).server().catch(() => null)
}
