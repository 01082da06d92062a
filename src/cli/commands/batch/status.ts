import { openRun, runStatus } from '../../../batch/runs.ts'
import { GdnCommand, switchFlag } from '../../command.ts'
import { spentOf } from '../../cost/spent.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { createOutput } from '../../render/output.ts'
import type { View } from '../../render/view.ts'
import { commandRunRecords } from './command-runs.ts'
import { runData, runView } from './run-view.ts'
import { addRunArgument, whichRun } from './which-run.ts'
import { settingsIfFound, whichServer } from './which-server.ts'

export type StatusFlags = OutputFlags & ServerFlags & { costs?: boolean }

export function command(deps: Deps, run = status): GdnCommand {
  const statusCommand = new GdnCommand({
    about:
      'Shows what this machine has recorded, also while the run is in progress. To update it from the server, use gdn batch resume. --costs asks the server of the run for gas and fees. Specify a run by its name, its ID, the name given with --run, or its manifest. gdn batch list --all shows the names of single commands.',
    examples: [
      ['Show a run by its manifest', 'gdn batch status drop.csv'],
      ['Print the number of deployed rows', 'gdn batch status drop-3f9a --json | jq .deployed'],
    ],
  })
  addRunArgument(statusCommand)
  switchFlag(statusCommand, '--costs', 'Show what the run has spent, from its server')
  addServerFlags(statusCommand)
  addOutputFlags(statusCommand)
  return statusCommand.action(
    async (name: string | undefined, flags: StatusFlags) => await run(deps, name, flags),
  ) as GdnCommand
}

export async function status(deps: Deps, given: string | undefined, flags: StatusFlags): Promise<void> {
  const name = await whichRun(deps, given, flags)
  const view = runView(deps.io, deps.now(), flags.stateDir)
  const { stateDir } = await deps.settings(flags)
  const server = await whichServer(deps, flags)
  const command = (await commandRunRecords(stateDir, server)).find(({ run, run_id }) => name === run || name === run_id)
  if (command === undefined) {
    const run = await openRun(stateDir, name, server)
    const spent = flags.costs ? await spentOf(deps, await settingsIfFound(deps, run, flags), run) : null
    await createOutput(deps.io, flags, view).one({ ...runData(await runStatus(run)), ...spent })
    if (flags.costs && spent === null) deps.io.note("The server of the run doesn't say what it has spent.")
    return
  }
  // There are no rows to show.
  const card: View['card'] = (record) => view.card?.(record).filter(([field]) => field !== 'results') ?? []
  await createOutput(deps.io, flags, { ...view, card }).one(command)
}
