import { refuseUnknownProfile } from '../../../config/profile-names.ts'
import { forgetApiKey } from '../../../config/saved-keys.ts'
import { SETTING_NAMES } from '../../../config/schema.ts'
import { parseServerOrigin } from '../../../config/server.ts'
import { readUserConfig } from '../../../config/user-file.ts'
import { writeUserConfig } from '../../../config/write-user-file.ts'
import { GdnCommand, noServerNamedError } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, notEmpty, type OutputFlags } from '../../flags/common.ts'
import { safe } from '../../io/io.ts'
import { createOutput, type DataRecord, isOutputRequested, type Output, type View } from '../../render/output.ts'
import { nearestSetting } from './nearest-setting.ts'

export interface UnsetFlags extends OutputFlags {
  profile?: string
  baseUrl?: string
}

const VIEW: View = { fields: ['name', 'profile', 'server'], columns: ['name', 'profile', 'server'], id: 'name' }

export function command(deps: Deps, run = unset): GdnCommand {
  return new GdnCommand({
    examples: [
      ['Remove a setting', 'gdn config unset contract'],
      ['Delete the API key of a server', 'gdn config unset api_key --base-url https://api.example.com'],
    ],
  })
    .wordArgument('<name>', ['profile', 'api_key', ...SETTING_NAMES])
    .valueFlag('--profile <name>', 'Profile to change', notEmpty)
    .valueFlag('--base-url <url>', 'With api_key: URL of the server whose key is deleted', notEmpty)
    .with(addOutputFlags)
    .action(async (name: string, flags: UnsetFlags) => await run(deps, name, flags))
}

export async function unset(deps: Deps, name: string, flags: UnsetFlags): Promise<void> {
  const { io, env } = deps
  const output = createOutput(io, flags, VIEW)
  if (name === 'api_key') return await forgetKey(deps, flags, output)
  const config = await readUserConfig(env)
  if (name === 'profile') {
    const { profile: _old, ...rest } = config
    await writeUserConfig(env, rest)
    io.note('No profile is selected now. Run `gdn config list` to show the configuration in effect.')
    return await print(output, flags, { name, profile: null })
  }
  const setting = nearestSetting(name, SETTING_NAMES, ['profile', 'api_key', ...SETTING_NAMES])
  const profile = flags.profile ?? (env.GDN_PROFILE || config.profile || 'default')
  if (flags.profile !== undefined) refuseUnknownProfile(config, profile, { flag: '--profile' })
  const { [setting]: removed, ...rest } = config.profiles?.[profile] ?? {}
  if (removed !== undefined) {
    await writeUserConfig(env, { ...config, profiles: { ...config.profiles, [profile]: rest } })
  }
  io.note(
    removed === undefined
      ? `The profile ${safe(profile)} has no setting ${setting}.`
      : `Removed ${setting} from profile ${safe(profile)}.`,
  )
  await print(output, flags, { name: setting, profile })
}

/** Prints the removed setting and its profile or server if a flag requests output. */
async function print(output: Output, flags: UnsetFlags, record: DataRecord): Promise<void> {
  if (isOutputRequested(flags)) await output.one(record)
}

async function forgetKey(deps: Deps, flags: UnsetFlags, output: Output): Promise<void> {
  const { baseUrl } = await deps.settings(flags)
  if (baseUrl === null) {
    throw noServerNamedError('--base-url', 'Add --base-url <url>.')
  }
  const origin = parseServerOrigin(baseUrl.value)
  await forgetApiKey(deps.env, origin, deps.openKeyring)
  deps.io.note(`Deleted the API key for ${origin}.`)
  await print(output, flags, { name: 'api_key', server: origin })
}
