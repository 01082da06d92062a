import { GdnError } from '../../../core/errors.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { safe } from '../../io/io.ts'
import { createOutput, type View } from '../../render/output.ts'
import { nearestSetting } from './nearest-setting.ts'
import { SHOWN_SETTINGS, settingsInEffect } from './settings-in-effect.ts'

export type GetFlags = OutputFlags & ServerFlags

const VIEW: View = { fields: ['name', 'value', 'from'], columns: ['name', 'value', 'from'], id: 'value' }

export function command(deps: Deps, run = get): GdnCommand {
  return new GdnCommand({
    about:
      'The command prints the value in effect, which comes from flags, the environment, the project or the profile. The command never prints API keys.',
    examples: [
      ['Print the URL of the server in effect', 'gdn config get base_url'],
      ['Print a setting of another profile', 'gdn config get contract --profile test'],
    ],
  })
    .wordArgument('<name>', SHOWN_SETTINGS)
    .with(addServerFlags, addOutputFlags)
    .action(async (name: string, flags: GetFlags) => await run(deps, name, flags))
}

export async function get(deps: Deps, name: string, flags: GetFlags): Promise<void> {
  const output = createOutput(deps.io, flags, VIEW)
  if (name === 'api_key') {
    throw new GdnError('usage', 'API keys are never printed', {
      hint: 'Run `gdn auth status` to list the saved keys and where they are stored.',
    })
  }
  const settingName = nearestSetting(name, SHOWN_SETTINGS)
  const settings = await deps.settings(flags)
  const effective = settingsInEffect(settings).find((setting) => setting.name === settingName)
  if (effective === undefined || effective.value === null) {
    throw new GdnError('not_found_locally', `${settingName} is not set`, {
      hint: howToSet(settingName, settings.profile),
    })
  }
  if (output.mode === 'table' && flags.fields === undefined) await deps.io.data(`${safe(String(effective.value))}\n`)
  else await output.one({ ...effective })
}

function howToSet(name: string, profile: string | null): string {
  if (name === 'map' || name === 'unknown_columns') return 'Set the value in the project file, such as gdn.config.json.'
  if (name === 'base_url' && profile === 'local') return 'Run `gdn local start`.'
  return `Run \`gdn config set ${name} <value>\` to set it.`
}
