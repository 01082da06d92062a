import { stat } from 'node:fs/promises'
import { credentialsFile, userConfigFile } from '../../../config/paths.ts'
import { loadProjectFile } from '../../../config/project-file.ts'
import { listSavedOrigins } from '../../../config/saved-keys.ts'
import type { ConfigFlags, Settings } from '../../../config/settings.ts'
import { readUserConfig } from '../../../config/user-file.ts'
import { shellWord } from '../../../core/shell-word.ts'
import type { Deps } from '../../deps.ts'
import { type Finding, fail, ok, warn } from './finding.ts'

/** Checks the user's configuration and its write permissions, the project's configuration, and the saved keys. */
export async function diagnoseConfiguration({ env, cwd }: Deps): Promise<Finding[]> {
  const user = userConfigFile(env)
  return [
    await catchFailure('configuration', async () => {
      const { profiles = {} } = await readUserConfig(env)
      const names = Object.keys(profiles)
      const hasFile = (await readFileMode(user)) !== null
      return (
        (await checkOthersCannotWrite('configuration', user)) ??
        ok('configuration', hasFile ? `${user}: ${names.length === 0 ? 'no profiles' : names.join(', ')}` : 'none yet')
      )
    }),
    await catchFailure('project', async () => {
      const project = await loadProjectFile(cwd, env.HOME)
      return ok('project', project === null ? 'no configuration in this folder' : project.path)
    }),
    await catchFailure('saved keys', async () => {
      const saved = await listSavedOrigins(env)
      const list = saved.map(({ origin, keptIn }) => `${origin} (${keptIn})`).join(', ')
      return ok('saved keys', saved.length === 0 ? 'none' : `${list}; ${credentialsFile(env)}`)
    }),
  ]
}

/**
 * Returns the settings, and a finding about the profile and the server. The settings are null if they are invalid or
 * specify no server.
 */
export async function checkSettings(
  deps: Deps,
  flags: ConfigFlags,
): Promise<{ finding: Finding; settings: Settings | null }> {
  try {
    const settings = await deps.settings(flags)
    const { profile, baseUrl } = settings
    const server = baseUrl === null ? (profile === 'local' ? 'the local backend' : null) : baseUrl.value
    if (server === null) {
      const fix = 'Run `gdn init` to set one up, or add --local for the local backend.'
      return { finding: warn('profile', 'no server is specified', fix), settings: null }
    }
    const from = baseUrl === null || baseUrl.from === `profile ${profile}` ? '' : ` (from ${baseUrl.from})`
    return { finding: ok('profile', `${profile ?? 'none'}: ${server}${from}`), settings }
  } catch (error) {
    return { finding: fail('profile', error), settings: null }
  }
}

async function catchFailure(check: string, look: () => Promise<Finding>): Promise<Finding> {
  return await look().catch((error: unknown) => fail(check, error))
}

/** Returns a warning if other users can write to the file, because they could redirect API keys. */
async function checkOthersCannotWrite(check: string, file: string): Promise<Finding | null> {
  const mode = await readFileMode(file)
  if (mode === null || (mode & 0o022) === 0 || process.platform === 'win32') return null
  return warn(check, `other users can write to ${file}`, `Run \`chmod go-w ${shellWord(file)}\`.`)
}

async function readFileMode(file: string): Promise<number | null> {
  return await stat(file).then(
    ({ mode }) => mode,
    () => null,
  )
}
