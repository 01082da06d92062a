import { checkProfileName, refuseUnknownProfile } from '../../../config/profile-names.ts'
import { type ProfileSettings, parseSetting, SETTING_NAMES } from '../../../config/schema.ts'
import { readUserConfig } from '../../../config/user-file.ts'
import { writeUserConfig } from '../../../config/write-user-file.ts'
import { GdnError } from '../../../core/errors.ts'
import { GdnCommand, valueFlag, wordArgument } from '../../command.ts'
import { keepKey, placeOfKey } from '../../connect/keep-key.ts'
import { keyIn } from '../../connect/read-key.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { notEmpty } from '../../flags/parse.ts'
import { safe } from '../../io/io.ts'
import { readInput } from '../../io/request-file.ts'
import type { DataRecord } from '../../render/cells.ts'
import { createOutput, isAskedFor, type Output } from '../../render/output.ts'
import type { View } from '../../render/view.ts'
import { serverForKey } from '../auth/server-for-key.ts'
import { nearestSetting } from './nearest-setting.ts'

export interface SetFlags extends OutputFlags {
  profile?: string
  baseUrl?: string
}

/** With api_key there is a server in place of value and profile. */
const VIEW: View = {
  fields: ['name', 'value', 'profile', 'server', 'kept_in'],
  columns: ['name', 'value', 'profile'],
  id: 'name',
}

export function command(deps: Deps, run = set): GdnCommand {
  const setCommand = new GdnCommand({
    about: `Settings are ${SETTING_NAMES.join(', ')}, and profile: the profile to use when none is named. An API key comes from standard input only, and is saved for one server.`,
    examples: [
      ['Your usual server', 'gdn config set base_url https://api.example.com'],
      ['Its key', 'pass gdn | gdn config set api_key -'],
      ['Another profile', 'gdn config set blockchain polygon-mumbai --profile test'],
    ],
  })
  wordArgument(setCommand, '<name>', ['profile', 'api_key', ...SETTING_NAMES]).argument('<value>')
  valueFlag(setCommand, '--profile <name>', 'The profile to change', { parse: notEmpty })
  valueFlag(setCommand, '--base-url <url>', 'With api_key: the server that the key is for', { parse: notEmpty })
  addOutputFlags(setCommand)
  return setCommand.action(async (name: string, value: string, flags: SetFlags) => {
    await run(deps, name, value, flags)
  }) as GdnCommand
}

export async function set(deps: Deps, name: string, value: string, flags: SetFlags): Promise<void> {
  const { io, env } = deps
  const output = createOutput(io, flags, VIEW)
  if (name === 'api_key') return await setKey(deps, value, flags, output)
  const config = await readUserConfig(env)
  if (name === 'profile') {
    refuseUnknownProfile(config, checkProfileName(value), '<value>')
    await writeUserConfig(env, { ...config, profile: value })
    io.note(`The profile in use is ${safe(value)}.`)
    return await print(output, flags, { name, value, profile: value })
  }
  const setting = nearestSetting(name, SETTING_NAMES, ['profile', 'api_key', ...SETTING_NAMES])
  const profile = checkProfileName(flags.profile ?? (env.GDN_PROFILE || config.profile || 'default'))
  if (profile === 'local' && setting === 'base_url') {
    throw new GdnError('usage', 'the profile local is the local backend, wherever it listens', {
      place: { field: 'base_url' },
    })
  }
  // A name that was mistyped is told now, and not when the wallet is used.
  if (setting === 'wallet' && value.startsWith('@')) (await deps.addresses()).resolve(value, { field: 'wallet' })
  const changed = { ...config.profiles?.[profile], ...parseSetting(setting, value) } satisfies ProfileSettings
  await writeUserConfig(env, { ...config, profiles: { ...config.profiles, [profile]: changed } })
  io.note(`Saved ${setting} in profile ${safe(profile)}.`)
  await print(output, flags, { name: setting, value: changed[setting] ?? null, profile })
}

/** Where a form of output was asked for, what is set now. */
async function print(output: Output, flags: SetFlags, record: DataRecord): Promise<void> {
  if (isAskedFor(flags)) await output.one(record)
}

/** A key on the command line would stand in the shell's history and in the list of processes. */
async function setKey(deps: Deps, value: string, flags: SetFlags, output: Output): Promise<void> {
  if (value !== '-') {
    throw new GdnError('usage', 'a key on the command line can be read by others; it was not saved', {
      hint: 'pipe it in: … | gdn config set api_key -',
    })
  }
  const { origin } = await serverForKey(deps, await deps.settings(flags))
  const keptIn = await keepKey(deps, origin, keyIn(await readInput(deps.io, '-'), 'stdin'))
  await print(output, flags, { name: 'api_key', server: origin, kept_in: keptIn })
  deps.io.note(`Saved the API key for ${origin} in ${safe(placeOfKey(deps, keptIn))}. It is sent to no other server.`)
}
