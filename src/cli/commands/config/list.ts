import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { createOutput } from '../../output.ts'
import type { View } from '../../view.ts'
import { settingsInForce } from './settings-in-force.ts'

export type ListFlags = OutputFlags & ServerFlags

const VIEW: View = { fields: ['name', 'value', 'from'], columns: ['name', 'value', 'from'], id: 'name' }

export function command(deps: Deps, run = list): GdnCommand {
  const listCommand = new GdnCommand({
    name: 'config list',
    summary: 'Settings in force, and where each comes from',
    about: 'Flags go before the environment, that before the project, that before your own profile.',
    examples: [
      ['In this folder', 'gdn config list'],
      ['With another profile', 'gdn config list --profile test'],
    ],
  })
  addServerFlags(listCommand)
  addOutputFlags(listCommand)
  return listCommand.action(async (flags: ListFlags) => await run(deps, flags)) as GdnCommand
}

export async function list(deps: Deps, flags: ListFlags): Promise<void> {
  const output = createOutput(deps.io, flags, VIEW)
  await output.many(settingsInForce(await deps.settings(flags)).map((setting) => ({ ...setting })))
}
