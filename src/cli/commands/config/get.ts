import { GdnError } from '../../../core/errors.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addJsonFlag, addServerFlags, type CommonFlags, type ServerFlags } from '../../flags/common.ts'
import { safe } from '../../io.ts'
import { settingNamed, settingsInForce } from './settings-in-force.ts'

export type GetFlags = CommonFlags & ServerFlags

export function command(deps: Deps, run = get): GdnCommand {
  const getCommand = new GdnCommand({
    name: 'config get',
    summary: 'Print one setting',
    about: 'The value in force: from flags, environment, project, profile. Keys are never printed.',
    examples: [
      ['Which server is used here?', 'gdn config get base_url'],
      ['In another profile', 'gdn config get contract --profile test'],
    ],
  })
  getCommand.argument('<name>')
  addServerFlags(getCommand)
  addJsonFlag(getCommand)
  return getCommand.action(async (name: string, flags: GetFlags) => await run(deps, name, flags)) as GdnCommand
}

export async function get(deps: Deps, name: string, flags: GetFlags): Promise<void> {
  const wanted = settingNamed(name)
  const found = settingsInForce(await deps.settings(flags)).find((setting) => setting.name === wanted)
  if (found === undefined || found.value === null) {
    throw new GdnError('not_found_locally', `${wanted} is not set`, { hint: `gdn config set ${wanted} <value>` })
  }
  await deps.io.data(flags.json ? `${JSON.stringify(found)}\n` : `${safe(String(found.value))}\n`)
}
