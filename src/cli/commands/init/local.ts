import { findRunningBackend } from '../../../config/local-backend.ts'
import { localDataDirectory } from '../../../config/paths.ts'
import { findProfileOverride } from '../../../config/profile-override.ts'
import { flagError } from '../../../core/errors.ts'
import { verifyKey } from '../../connect/check-key.ts'
import type { Deps } from '../../deps.ts'
import { askYesNo, mayPrompt } from '../../prompt/ask-missing.ts'
import { checkWallet, promptForDefaults, writeProfile } from './defaults.ts'
import type { InitFlags } from './init-flags.ts'
import type { Setup } from './next-steps.ts'

/** Selects the built-in profile `local`. The backend stores its address and key in its own folder. */
export async function initLocal(deps: Deps, flags: InitFlags): Promise<Setup> {
  if (flags.profile !== undefined && flags.profile !== 'local') {
    throw flagError('--profile', 'the local backend uses the profile local', 'Omit --profile.')
  }
  if (flags.keyFile !== undefined) {
    throw flagError('--key-file', 'the local backend has its own key', 'Omit --key-file.')
  }
  checkWallet(flags)
  const isRunning = await start(deps, flags)
  const isChecked = isRunning && flags.check !== false
  if (isChecked) {
    const { client } = await deps.connect(await deps.settings({ local: true }))
    await verifyKey(client, deps.signals.signal)
  }
  const defaults = await promptForDefaults(deps, flags)
  const override = await findProfileOverride({ ...deps, profile: 'local', baseUrl: undefined })
  await writeProfile(deps, 'local', defaults)
  return { profile: 'local', baseUrl: null, override, keptIn: 'local backend', ...defaults, isChecked, isRunning }
}

/** Starts the backend if the user agrees. Returns whether it is running. */
async function start(deps: Deps, flags: InitFlags): Promise<boolean> {
  const { io, env } = deps
  if ((await findRunningBackend(localDataDirectory(env))) !== null) return true
  const isWanted =
    flags.start ??
    (mayPrompt(io) && (await askYesNo(io, { message: 'Start the local backend now?', flag: '--start', default: true })))
  if (!isWanted) return false
  const { start: startBackend } = await import('../local/start.ts')
  await startBackend(deps, {})
  return true
}
