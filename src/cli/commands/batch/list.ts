import { listRuns, runStatus } from '../../../batch/runs.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addProfileFlags, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { createOutput } from '../../output.ts'
import { RUN_VIEW, runData } from './run-view.ts'

export type ListFlags = OutputFlags & ServerFlags

export function command(deps: Deps, run = list): GdnCommand {
  const listCommand = new GdnCommand({
    name: 'batch list',
    summary: 'List the runs of this machine',
    examples: [
      ['Newest first', 'gdn batch list'],
      ['Their names', 'gdn batch list -o ids'],
    ],
  })
  addProfileFlags(listCommand)
  addOutputFlags(listCommand)
  return listCommand.action(async (flags: ListFlags) => await run(deps, flags)) as GdnCommand
}

export async function list(deps: Deps, flags: ListFlags): Promise<void> {
  const output = createOutput(deps.io, flags, RUN_VIEW)
  const { stateDir } = await deps.settings(flags)
  const runs = await listRuns(stateDir)
  if (runs.length === 0) deps.io.note('There are no runs yet; gdn batch mint begins one.')
  await output.many(await Promise.all(runs.map(async (run) => runData(await runStatus(run)))))
}
