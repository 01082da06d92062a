import { countOpenRows } from '../../../batch/rows/row-counts.ts'
import { removeRun } from '../../../batch/runs/remove-run.ts'
import { listRuns, matchesFilter, type Run, runStatus, runStatuses } from '../../../batch/runs/runs.ts'
import type { RunStatus } from '../../../batch/types.ts'
import { count } from '../../../core/count.ts'
import { GdnError } from '../../../core/errors.ts'
import { removeCommand } from '../../../operations/remove-command.ts'
import { forgetHiddenRows, isHiddenByCommand, removalEffect } from '../../../reveal/hidden-rows.ts'
import { readCommandRecords } from '../../batch/runs/command-runs.ts'
import { addRunArgument } from '../../batch/runs/resolve-run.ts'
import { findRun, type RunFlags, resolveServer } from '../../batch/runs/resolve-server.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, type OutputFlags } from '../../flags/common.ts'
import { safe } from '../../io/io.ts'
import { formatRowsByState } from '../../render/count.ts'
import { createOutput, type DataRecord, type View } from '../../render/output.ts'

const NOTHING_REMOVED = { message: 'nothing was removed' }

export interface RmFlags extends OutputFlags, RunFlags {
  finished?: boolean
  yes?: boolean
}

const VIEW: View = { fields: ['run', 'run_id', 'removed'], columns: ['run', 'run_id'], id: 'run_id' }

export function command(deps: Deps, run = rm): GdnCommand {
  return new GdnCommand({
    about:
      'The command does not change minted NFTs, but it deletes the record that prevents rows from being minted twice. If you mint the same manifest later, gdn starts a new run. On a server without reference IDs, the new run may mint the rows again. In a terminal, gdn prompts for confirmation. In a script, add --yes.',
    examples: [
      ['Delete a run', 'gdn batch rm drop-3f9a'],
      ['Delete all finished runs', 'gdn batch rm --finished'],
      ['Delete the record of a single command', 'gdn batch rm nft-mint-3f9a'],
      ['Delete a run in a script', 'gdn batch rm drop-3f9a --yes'],
    ],
  })
    .with(addRunArgument)
    .switchFlag(
      '--finished',
      'Delete all finished runs, or only those on the selected server or in the selected collection',
    )
    .switchFlag('-y, --yes', 'Delete without a prompt')
    .with(addServerFlags, addOutputFlags)
    .action(async (name: string | undefined, flags: RmFlags) => await run(deps, name, flags))
}

export async function rm(deps: Deps, name: string | undefined, flags: RmFlags): Promise<void> {
  // Reject invalid flags before a run is removed.
  createOutput(deps.io, flags, VIEW)
  if ((name === undefined) === (flags.finished !== true)) {
    throw new GdnError('usage', name === undefined ? 'no run is specified' : "a run and --finished can't be combined", {
      hint: 'Specify a run or --finished. Run `gdn batch list` to list the runs.',
    })
  }
  const { stateDir } = await deps.settings(flags)
  const removed =
    name === undefined
      ? await removeFinishedRuns(deps, stateDir, flags)
      : await removeNamedRun(deps, stateDir, name, flags)
  const output = createOutput(deps.io, flags, VIEW, { manifest: removed[0]?.manifestPath })
  await output.many(removed.map(({ id, name: run }) => ({ run, run_id: id, removed: true })))
}

async function removeNamedRun(
  deps: Deps,
  stateDir: string,
  name: string,
  flags: RmFlags,
): Promise<Pick<Run, 'id' | 'name' | 'manifestPath'>[]> {
  const commands = await readCommandRecords(stateDir, await resolveServer(deps, flags))
  const command = commands.find(({ run, run_id }) => name === run || name === run_id)
  if (command !== undefined) return [await removeCommandRun(deps, stateDir, command, flags.yes)]
  const run = await findRun(deps, name, flags)
  refuseRunning(run)
  const status = await runStatus(run)
  await warnOfHiddenRows(deps, [run])
  if (isFinished(status)) await confirmRemoval(deps, flags.yes, `Remove the finished run ${safe(run.name)}?`)
  else await confirmLoss(deps, flags.yes, run.name, describeLoss(status))
  await removeRun(run)
  await forgetHiddenRows(run)
  deps.io.note(`Removed ${safe(run.name)}. On a server without reference IDs, a later run may mint the rows again.`)
  return [run]
}

async function removeCommandRun(
  deps: Deps,
  stateDir: string,
  { run_id, run, state }: DataRecord,
  yes: boolean | undefined,
): Promise<Pick<Run, 'id' | 'name' | 'manifestPath'>> {
  const [id, name] = [String(run_id), String(run)]
  refuseRunning({ name, running: state === 'running' })
  if (await isHiddenByCommand(stateDir, name)) warnOfName(deps, name)
  if (state === 'unknown' || state === 'unfinished') {
    const loss = 'without its record, the same command would send another request'
    await confirmLoss(deps, yes, name, loss)
  } else if (!yes) {
    await deps.io.confirm(`Remove the record of ${safe(name)}?`, '--yes', NOTHING_REMOVED)
  }
  await removeCommand(stateDir, id)
  deps.io.note(`Removed ${safe(name)}.`)
  return { id, name, manifestPath: null }
}

/**
 * Removes finished runs. Starts with the latest drop of a run, because a drop can't be removed while later drops exist.
 */
async function removeFinishedRuns(deps: Deps, stateDir: string, flags: RmFlags): Promise<Run[]> {
  const { io } = deps
  const limits = { server: await resolveServer(deps, flags), collection: flags.contract }
  const runs = await listRuns(stateDir)
  const idle = runs.filter((run) => !run.running && matchesFilter(run, limits))
  const done = new Set((await runStatuses(stateDir, idle)).filter(isFinished).map(({ id }) => id))
  const finished = idle.filter(({ id }) => done.has(id))
  await warnOfHiddenRows(deps, finished)
  if (finished.length > 0) await confirmRemoval(deps, flags.yes, `Remove ${count(finished.length, 'finished run')}?`)
  const removed: Run[] = []
  for (const run of finished.sort((a, b) => b.generation - a.generation || a.name.localeCompare(b.name))) {
    try {
      await removeRun(run)
      await forgetHiddenRows(run)
      removed.push(run)
    } catch (error) {
      // Keep the run, because another process resumed it, or a later drop isn't finished.
      if (!(error instanceof GdnError && error.code === 'run_busy')) throw error
    }
  }
  const remaining = runs.length - removed.length
  io.note(`Removed ${count(removed.length, 'finished run')}${remaining === 0 ? '' : `; ${remaining} left`}.`)
  return removed
}

function refuseRunning({ name, running }: Pick<Run, 'name' | 'running'>): void {
  if (!running) return
  throw new GdnError('run_busy', `a gdn process is working on the run ${safe(name)}`, {
    hint: 'Wait until the process ends, or press Ctrl-C in its terminal.',
  })
}

const isFinished = ({ counts }: RunStatus): boolean => countOpenRows(counts) === 0

/** Describes what the user loses if a run is removed. */
function describeLoss({ counts }: RunStatus): string {
  const { pending, accepted, unknown } = counts
  const losses = [
    unknown > 0 ? `${count(unknown, 'row')} with an unknown outcome` : '',
    accepted > 0 ? `the NFT IDs of ${count(accepted, 'accepted row')}` : '',
    pending > 0 ? count(pending, 'unsent row') : '',
  ].filter((loss) => loss !== '')
  return `${formatRowsByState({ ...counts })}. Removing the run deletes the record of ${losses.join(', and of ')}. On a server without reference IDs, a later run may then mint every row again`
}

/**
 * Warns about runs whose removal changes which rows gdn refuses to publish in other collections. After a removal, gdn
 * may refuse fewer rows or more rows.
 */
async function warnOfHiddenRows(deps: Deps, runs: readonly Run[]): Promise<void> {
  for (const run of runs) {
    const effect = await removalEffect(run, runs)
    if (effect === 'ends') warnOfName(deps, run.name)
    if (effect === 'begins') {
      deps.io.warn(
        `Another drop that is not revealed yet contains rows that ${safe(run.name)} has revealed. If you remove the run, gdn refuses to publish these rows until that drop is revealed.`,
      )
    }
  }
}

const warnOfName = ({ io }: Deps, name: string): void =>
  io.warn(`The rows of ${safe(name)} are not revealed yet. If you remove the run, gdn can't prevent their publication.`)

/** Asks for confirmation, because the records of even a finished run prevent its rows from being minted twice. */
async function confirmRemoval({ io }: Deps, yes: boolean | undefined, question: string): Promise<void> {
  if (yes) return
  if (io.isInteractive)
    io.note('Without the record, a later run may mint the rows again on a server without reference IDs.')
  await io.confirm(question, '--yes', NOTHING_REMOVED)
}

async function confirmLoss({ io }: Deps, yes: boolean | undefined, name: string, loss: string): Promise<void> {
  if (yes) return
  if (!io.isInteractive) {
    throw new GdnError('not_confirmed', `the run ${safe(name)} isn't finished: ${loss}`, {
      hint: 'Add --yes to remove the run anyway.',
    })
  }
  io.note(`${safe(name)} isn't finished: ${loss}.`)
  await io.confirm('Remove the run anyway?', '--yes', NOTHING_REMOVED)
}
