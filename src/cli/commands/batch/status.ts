import { openRun, runStatus } from '../../../batch/runs.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addProfileFlags, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { createOutput } from '../../output.ts'
import { RUN_VIEW, runData } from './run-view.ts'

export type StatusFlags = OutputFlags & ServerFlags

export function command(deps: Deps, run = status): GdnCommand {
  const statusCommand = new GdnCommand({
    name: 'batch status',
    summary: 'Rows of a run by state',
    about: 'As the journal on this machine has it, while the run is under way too. gdn batch resume asks the server.',
    examples: [
      ['By name', 'gdn batch status drop.csv'],
      ['How many are deployed?', 'gdn batch status drop.csv --json | jq .deployed'],
    ],
  })
  statusCommand.argument('<run>')
  addProfileFlags(statusCommand)
  addOutputFlags(statusCommand)
  return statusCommand.action(async (name: string, flags: StatusFlags) => await run(deps, name, flags)) as GdnCommand
}

export async function status(deps: Deps, name: string, flags: StatusFlags): Promise<void> {
  const output = createOutput(deps.io, flags, RUN_VIEW)
  const { stateDir } = await deps.settings(flags)
  await output.one(runData(await runStatus(await openRun(stateDir, name))))
}
