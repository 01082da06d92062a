import { isEnsName } from '../../../api/ens-name.ts'
import { checkProfileName, refuseUnknownProfile } from '../../../config/profile-names.ts'
import { findProfileOverride } from '../../../config/profile-override.ts'
import { type ProfileSettings, parseSetting, SETTING_NAMES } from '../../../config/schema.ts'
import { readUserConfig } from '../../../config/user-file.ts'
import { writeUserConfig } from '../../../config/write-user-file.ts'
import { GdnError } from '../../../core/errors.ts'
import { rememberKeysInUrl } from '../../../core/secret.ts'
import { GdnCommand } from '../../command.ts'
import { parseKey } from '../../connect/read-key.ts'
import { describeKeyPlace, saveKey } from '../../connect/save-key.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addStateDirFlag, notEmpty, type OutputFlags } from '../../flags/common.ts'
import { safe } from '../../io/io.ts'
import { readInput } from '../../io/request-file.ts'
import { createOutput, type DataRecord, isOutputRequested, type Output, type View } from '../../render/output.ts'
import { serverForKey } from '../auth/server-for-key.ts'
import { nearestSetting } from './nearest-setting.ts'

export interface SetFlags extends OutputFlags {
  profile?: string
  baseUrl?: string
}

/** The view of a saved setting. The record of `api_key` has a server instead of a value and a profile. */
const VIEW: View = {
  fields: ['name', 'value', 'profile', 'server', 'kept_in'],
  columns: ['name', 'value', 'profile'],
  id: 'name',
}

export function command(deps: Deps, run = set): GdnCommand {
  return new GdnCommand({
    about: `The settings are ${SETTING_NAMES.join(', ')}, and profile, which selects the default profile. gdn reads an API key from standard input only, and saves the key for one server.`,
    examples: [
      ['Set your default server', 'gdn config set base_url https://api.example.com'],
      ['Save the API key of the server', 'pass gdn | gdn config set api_key -'],
      ['Change another profile', 'gdn config set blockchain polygon-amoy --profile test'],
    ],
  })
    .wordArgument('<name>', ['profile', 'api_key', ...SETTING_NAMES])
    .argument('<value>')
    .valueFlag('--profile <name>', 'Profile to change', notEmpty)
    .valueFlag('--base-url <url>', 'With api_key: URL of the server for the key', notEmpty)
    .with(addStateDirFlag, addOutputFlags)
    .action(async (name: string, value: string, flags: SetFlags) => await run(deps, name, value, flags))
}

export async function set(deps: Deps, name: string, typedValue: string, flags: SetFlags): Promise<void> {
  const { io, env } = deps
  const output = createOutput(io, flags, VIEW)
  if (name === 'api_key') return await saveApiKey(deps, typedValue, flags, output)
  const config = await readUserConfig(env)
  if (name === 'profile') {
    const value = typedValue
    refuseUnknownProfile(config, checkProfileName(value), { field: 'profile' })
    const override = await findProfileOverride({ ...deps, profile: value, baseUrl: config.profiles?.[value]?.base_url })
    await writeUserConfig(env, { ...config, profile: value })
    io.note(`The ${override === null ? 'profile in use' : 'saved profile'} is ${safe(value)}.`)
    if (override !== null) io.warn(safe(override))
    return await print(output, flags, { name, value, profile: value })
  }
  const setting = nearestSetting(name, SETTING_NAMES, ['profile', 'api_key', ...SETTING_NAMES])
  const profile = checkProfileName(flags.profile ?? (env.GDN_PROFILE || config.profile || 'default'))
  if (profile === 'local' && setting === 'base_url') {
    throw new GdnError('usage', "can't be set in the profile local: gdn looks up the address of the local backend", {
      place: { field: 'base_url' },
    })
  }
  const isEns = setting === 'wallet' && isEnsName(typedValue)
  const value = isEns ? await normalizeEnsName(typedValue) : typedValue
  if (setting === 'ens_rpc_url') rememberKeysInUrl(value)
  // Report an unknown name now rather than when the wallet is used.
  if (setting === 'wallet' && value.startsWith('@')) (await deps.addresses()).resolve(value, { field: 'wallet' })
  const parsed = parseSetting(setting, value)
  const changed = { ...config.profiles?.[profile], ...parsed } satisfies ProfileSettings
  await writeUserConfig(env, { ...config, profiles: { ...config.profiles, [profile]: changed } })
  io.note(`Saved ${setting} in profile ${safe(profile)}.`)
  await print(output, flags, { name: setting, value: changed[setting] ?? null, profile })
}

/** Returns a normalized ENS name to store. The name is resolved each time the wallet is used. */
async function normalizeEnsName(name: string): Promise<string> {
  const { normalizeName } = await import('../../../ens/normalize-name.ts')
  return normalizeName(name, { field: 'wallet' })
}

/** Prints the saved setting if a flag requests output. */
async function print(output: Output, flags: SetFlags, record: DataRecord): Promise<void> {
  if (isOutputRequested(flags)) await output.one(record)
}

/**
 * Saves a key from standard input. Rejects a key on the command line, because the shell history and the process list
 * would show it.
 */
async function saveApiKey(deps: Deps, value: string, flags: SetFlags, output: Output): Promise<void> {
  if (value !== '-') {
    throw new GdnError('usage', 'the key was not saved: other users can read the command line', {
      hint: 'Pipe the key in: `… | gdn config set api_key -`.',
    })
  }
  const { origin } = await serverForKey(deps, await deps.settings(flags))
  const keptIn = await saveKey(deps, origin, parseKey(await readInput(deps.io, '-'), 'stdin'))
  await print(output, flags, { name: 'api_key', server: origin, kept_in: keptIn })
  deps.io.note(
    `Saved the API key for ${origin} in ${safe(describeKeyPlace(deps, keptIn))}. gdn sends the key only to that server.`,
  )
}
