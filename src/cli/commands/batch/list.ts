import { listRuns, runStatuses } from '../../../batch/runs/runs.ts'
import { count } from '../../../core/count.ts'
import { runData, runView } from '../../batch/report/run-view.ts'
import { readCommandRecords } from '../../batch/runs/command-runs.ts'
import { resolveServer } from '../../batch/runs/resolve-server.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { createOutput } from '../../render/output.ts'

export type ListFlags = OutputFlags & ServerFlags & { all?: boolean }

export function command(deps: Deps, run = list): GdnCommand {
  return new GdnCommand({
    about:
      'The list starts with the latest run. If a flag selects a server, the command lists only the runs on that server. The field `server` contains the URL that the server had when the run started. The state is the first of these that applies: running, unknown, sealed, unfinished, failed, finished. The state is unknown if a row has an unknown outcome. The state is sealed if the rows of a sealed drop are not drawn yet. The state is failed if a row failed.',
    examples: [
      ['List all runs', 'gdn batch list'],
      ['List the runs on the local backend', 'gdn batch list --local'],
      ['Include single commands, such as gdn nft mint', 'gdn batch list --all'],
      [
        'List runs with pending rows, or rows with an unknown outcome',
        "gdn batch list --json | jq '.[] | select(.pending + .unknown > 0)'",
      ],
    ],
  })
    .switchFlag('--all', 'Include single commands, each as a run of one request')
    .with(addServerFlags, addOutputFlags)
    .action(async (flags: ListFlags) => await run(deps, flags))
}

export async function list(deps: Deps, flags: ListFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, runView(io, deps.now(), flags.stateDir))
  const { stateDir } = await deps.settings(flags)
  const server = await resolveServer(deps, flags)
  const all = await listRuns(stateDir)
  const runs = server === undefined ? all : all.filter((run) => server.has(run))
  const batches = (await runStatuses(stateDir, runs)).map(runData)
  const commands = await readCommandRecords(stateDir, server)
  const records = [...batches, ...(flags.all === true ? commands : [])].sort((a, b) =>
    String(b.started_at).localeCompare(String(a.started_at)),
  )
  if (records.length === 0) {
    io.note(
      server === undefined
        ? 'There are no runs yet. Run `gdn batch mint <manifest>` to start one.'
        : `There are no runs on ${server.name}.`,
    )
  }
  const open = flags.all === true ? 0 : commands.filter(({ unknown }) => unknown > 0).length
  if (open > 0)
    io.note(
      `The outcome of ${count(open, 'single command')} is unknown. To list ${open === 1 ? 'it' : 'them'}, add --all.`,
    )
  await output.many(records)
}
