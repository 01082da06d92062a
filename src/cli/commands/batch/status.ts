import { formatResumeCommand } from '../../../batch/runs/how-to-resume.ts'
import { runStatus } from '../../../batch/runs/runs.ts'
import type { Run, RunStatus } from '../../../batch/types.ts'
import { isUnrevealed } from '../../../state/drops.ts'
import { describeResume, findManifestEdits, warnOfEdits } from '../../batch/edits-since.ts'
import { formatServerFlags } from '../../batch/options/format-flags.ts'
import { runData, runView } from '../../batch/report/run-view.ts'
import { describeDrop, formatUpdateNote } from '../../batch/reveal/next-reveal.ts'
import { readCommandRecords } from '../../batch/runs/command-runs.ts'
import { describeOtherRuns } from '../../batch/runs/other-runs.ts'
import { addRunArgument, resolveRun } from '../../batch/runs/resolve-run.ts'
import {
  addRunServerFlag,
  findRun,
  type RunFlags,
  resolveRunSettingsIfFound,
  resolveServer,
} from '../../batch/runs/resolve-server.ts'
import { GdnCommand } from '../../command.ts'
import { type RunSpending, readSpending } from '../../cost/spent.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, type OutputFlags } from '../../flags/common.ts'
import { addWatchFlag } from '../../flags/watch.ts'
import { safe } from '../../io/io.ts'
import { createOutput, type DataRecord, type Output, type View } from '../../render/output.ts'
import { watch } from '../../request/watch.ts'

export type StatusFlags = OutputFlags & RunFlags & { costs?: boolean; watch?: boolean }

export function command(deps: Deps, run = status): GdnCommand {
  return new GdnCommand({
    about:
      'The command shows the record of the run on this machine, even while the run is in progress. To update the record from the server without sending rows, use gdn batch reconcile. With --costs, the command gets the gas and fees from the server of the run. Specify a run by its name, its ID, the value of --run, its manifest, or its list of receivers. gdn batch list --all shows the names of single commands.',
    examples: [
      ['Show a run by its manifest', 'gdn batch status drop.csv'],
      ['Watch a run that was started in another terminal', 'gdn batch status drop.csv --watch'],
      ['Print the number of deployed rows', 'gdn batch status drop-3f9a --json | jq .deployed'],
    ],
  })
    .with(addRunArgument, addWatchFlag)
    .switchFlag('--costs', 'Get the current cost of the run from its server')
    .with(addServerFlags, addOutputFlags)
    .action(async (name: string | undefined, flags: StatusFlags) => await run(deps, name, flags))
}

export async function status(deps: Deps, typed: string | undefined, flags: StatusFlags): Promise<void> {
  const name = await resolveRun(deps, typed, flags)
  const view = runView(deps.io, deps.now(), flags.stateDir)
  const { stateDir } = await deps.settings(flags)
  const server = await resolveServer(deps, flags)
  const command = (await readCommandRecords(stateDir, server)).find(
    ({ run, run_id }) => name === run || name === run_id,
  )
  if (command === undefined) {
    const { manifestPath: manifest } = await findRun(deps, name, flags)
    const output = createOutput(deps.io, flags, view, { manifest })
    const look = async () => {
      const run = await findRun(deps, name, flags)
      const current = await runStatus(run)
      const data = runData(current)
      const spent = flags.costs
        ? await readSpending(deps, await resolveRunSettingsIfFound(deps, run, flags), run, current.counts)
        : null
      const resume = formatResumeCommand(
        { ...run, manifest: run.manifestPath, contract: run.contractAddress },
        current.counts.pending,
      )
      return {
        data: { ...data, ...spent?.costs },
        run: { ...run, counts: current.counts },
        resume,
        problem: spent?.problem ?? null,
      }
    }
    const snapshot = flags.watch ? await watchRun(deps, flags, look, { view, output }) : await look()
    if (snapshot === null) return
    await output.one(snapshot.data)
    if (snapshot.problem !== null) deps.io.warn(safe(snapshot.problem))
    if (snapshot.data.running === true) return
    await printNotes(deps, snapshot, flags, { isTable: output.mode === 'table', name })
    return
  }
  // The card of a single command omits `results`, because there are no rows to show.
  const card: View['card'] = (record) => view.card?.(record).filter(([field]) => field !== 'results') ?? []
  const spent = flags.costs ? await readCommandSpending(deps, command, flags) : null
  await createOutput(deps.io, flags, { ...view, card }).one({ ...command, ...spent?.costs })
  if (spent?.problem != null) deps.io.warn(safe(spent.problem))
}

/** Prints how a run that isn't running differs from its manifest, and how to continue the run. */
async function printNotes(
  deps: Deps,
  { data, run, resume }: RunSnapshot,
  flags: StatusFlags,
  { isTable, name }: { isTable: boolean; name: string },
): Promise<void> {
  const isUnfinished = data.state === 'unfinished'
  const isShown = isTable || (isUnfinished && !deps.io.settings.machine)
  const edits = isShown ? await findManifestEdits(deps, run, flags) : null
  if (edits !== null && isTable) warnOfEdits(deps.io, { ...edits, isRearranged: false })
  const serverFlags = await addRunServerFlag(deps, run, flags)
  const notes = await describeDrop(deps, run, serverFlags, true)
  if (notes.length === 0 && isUnfinished) {
    const isHidden = isUnrevealed(run)
    notes.push(...describeResume(isHidden ? null : edits, resumeText(resume, flags, serverFlags)))
    if (isHidden) notes.push(formatUpdateNote(run.name, serverFlags))
  }
  if (isTable) notes.push(...(await describeOtherRuns(run, name, 'status')))
  for (const note of notes) deps.io.note(note)
}

/**
 * Adds server flags to a command. `gdn batch resume` finds the server of the run, so it gets only the flags that the
 * user specified.
 */
const resumeText = (command: string, specified: StatusFlags, hinted: StatusFlags): string =>
  `${safe(command)}${formatServerFlags(command.startsWith('gdn batch resume ') ? specified : hinted)}`

interface RunSnapshot {
  data: DataRecord
  run: Run & Pick<RunStatus, 'counts'>
  /** The command that resumes the run. */
  resume: string
  /** The reason why the costs are unknown; null if they are known or not requested. */
  problem: string | null
}

/** Shows a run until no process is minting it. Only such a process changes the records on this machine. */
async function watchRun(
  deps: Deps,
  flags: StatusFlags,
  readSnapshot: () => Promise<RunSnapshot>,
  { view, output }: { view: View; output: Output },
): Promise<RunSnapshot | null> {
  const { renderOne } = await import('../../render/table.ts')
  const snapshot = await watch(deps, flags, {
    readSnapshot,
    view,
    toRecords: ({ data }) => [data],
    isFinal: ({ data }) => data.running !== true,
    formatText: async ({ data }) => renderOne(deps.io, output.pick(data), view, output.fields),
  })
  if (snapshot?.data.state === 'unfinished') deps.io.note('No process is working on this run.')
  return snapshot
}

/** Returns the cost of a single command. */
async function readCommandSpending(
  deps: Deps,
  command: Awaited<ReturnType<typeof readCommandRecords>>[number],
  flags: StatusFlags,
): Promise<RunSpending> {
  const run = {
    id: String(command.run_id),
    name: String(command.run),
    origin: String(command.origin),
    url: String(command.server),
    backendId: command.backend_id === null ? null : String(command.backend_id),
  }
  const { costs, problem } = await readSpending(deps, await resolveRunSettingsIfFound(deps, run, flags), run, command)
  if (problem === null) return { costs, problem }
  return { costs, problem: `${problem} Servers track costs only for commands with --max-cost.` }
}
