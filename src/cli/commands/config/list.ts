import { profileNames } from '../../../config/profile-names.ts'
import { SETTING_NAMES } from '../../../config/schema.ts'
import { readUserConfig } from '../../../config/user-file.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { createOutput, type View } from '../../render/output.ts'
import { settingsInEffect } from './settings-in-effect.ts'

export interface ListFlags extends OutputFlags, ServerFlags {
  profiles?: boolean
}

const VIEW: View = { fields: ['name', 'value', 'from'], columns: ['name', 'value', 'from'], id: 'name' }

export function command(deps: Deps, run = list): GdnCommand {
  return new GdnCommand({
    about: 'gdn uses the first of these that sets a value: a flag, the environment, the project, your profile.',
    examples: [
      ['List the configuration in this folder', 'gdn config list'],
      ['List the configuration with another profile', 'gdn config list --profile test'],
      ['List the profiles', 'gdn config list --profiles'],
    ],
  })
    .switchFlag('--profiles', 'List the profiles instead of the configuration')
    .with(addServerFlags, addOutputFlags)
    .action(async (flags: ListFlags) => await run(deps, flags))
}

export async function list(deps: Deps, flags: ListFlags): Promise<void> {
  if (flags.profiles) return await listProfiles(deps, flags)
  const output = createOutput(deps.io, flags, VIEW)
  await output.many(settingsInEffect(await deps.settings(flags)).map((setting) => ({ ...setting })))
}

const PROFILES_VIEW: View = {
  fields: ['profile', 'in_use', ...SETTING_NAMES],
  columns: ['profile', 'in_use', 'base_url', 'blockchain', 'contract', 'wallet'],
  id: 'profile',
}

async function listProfiles(deps: Deps, flags: ListFlags): Promise<void> {
  const output = createOutput(deps.io, flags, PROFILES_VIEW)
  const config = await readUserConfig(deps.env)
  const { profile: inUse } = await deps.settings(flags)
  const rows = profileNames(config).map((profile) => ({
    profile,
    in_use: profile === inUse,
    ...Object.fromEntries(SETTING_NAMES.map((name) => [name, config.profiles?.[profile]?.[name] ?? null])),
  }))
  await output.many(rows)
}
