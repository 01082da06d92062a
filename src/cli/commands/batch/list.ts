import { listRuns, runStatuses } from '../../../batch/runs.ts'
import { GdnCommand, switchFlag } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { createOutput } from '../../render/output.ts'
import { commandRunRecords } from './command-runs.ts'
import { runData, runView } from './run-view.ts'
import { whichServer } from './which-server.ts'

export type ListFlags = OutputFlags & ServerFlags & { all?: boolean }

export function command(deps: Deps, run = list): GdnCommand {
  const listCommand = new GdnCommand({
    about:
      'Newest first. A server named by a flag leaves out the runs of others; `server` is its URL at the start of the run. What counts as the state of a run, the worst first: unknown (outcomes of rows), unfinished, failed (rows), finished.',
    examples: [
      ['Newest first', 'gdn batch list'],
      ['Those of the local backend', 'gdn batch list --local'],
      ['With single commands, such as gdn nft mint', 'gdn batch list --all'],
      ['What is left to do', "gdn batch list --json | jq '.[] | select(.pending + .unknown > 0)'"],
    ],
  })
  switchFlag(listCommand, '--all', 'Include single commands: each is a run of one')
  addServerFlags(listCommand)
  addOutputFlags(listCommand)
  return listCommand.action(async (flags: ListFlags) => await run(deps, flags)) as GdnCommand
}

export async function list(deps: Deps, flags: ListFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, runView(io, deps.now(), flags.stateDir))
  const { stateDir } = await deps.settings(flags)
  const server = await whichServer(deps, flags)
  const all = await listRuns(stateDir)
  const runs = server === undefined ? all : all.filter((run) => server.has(run))
  const batches = (await runStatuses(stateDir, runs)).map(runData)
  const commands = flags.all === true ? await commandRunRecords(stateDir, server) : []
  const records = [...batches, ...commands].sort((a, b) => String(b.started_at).localeCompare(String(a.started_at)))
  if (records.length === 0) {
    io.note(
      server === undefined
        ? 'There are no runs yet; gdn batch mint begins one.'
        : `There are no runs of ${server.name}.`,
    )
  }
  await output.many(records)
}
