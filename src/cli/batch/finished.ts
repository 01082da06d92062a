import { runResults } from '../../batch/runs/run-rows.ts'
import { openRun, runStatus } from '../../batch/runs/runs.ts'
import { collectListedRows, type ListedRows } from '../../batch/runs/summary.ts'
import type { BatchOptions, RunStatus } from '../../batch/types.ts'
import type { Settings } from '../../config/settings.ts'
import { GdnError } from '../../core/errors.ts'
import { shortPath } from '../../core/short-path.ts'
import { isShuffled, readDropState, withAbandoned } from '../../reveal/drop-state.ts'
import { isListDrop, isUnrevealed } from '../../state/drops.ts'
import { UNKNOWN_RUN_COSTS } from '../cost/paid.ts'
import type { Deps } from '../deps.ts'
import { safe } from '../io/io.ts'
import {
  differingRowsText,
  type RemovedRows,
  removedReceiversText,
  removedTexts,
} from '../render/differing-rows-text.ts'
import type { Output } from '../render/output.ts'
import type { BatchMintFlags } from './options/flags.ts'
import { formatPlanCommand } from './options/format-flags.ts'
import { failedStep, toRunErrorDetails } from './report/run-error.ts'
import { summaryData } from './report/summary.ts'
import { describeDrop, describeRevealSteps } from './reveal/next-reveal.ts'
import { runCommands } from './runs/run-commands.ts'
import { writeJobSummary } from './send-run.ts'
import { refuseDiffering, verifyFinished } from './verify/verify-run.ts'

/** A run that has no work left. */
export interface FinishedRun {
  status: RunStatus
  /** Number of rows that were edited after they were sent. */
  kept: number
  removed: RemovedRows
  /** Whether rows refer to local files. */
  hasLocalFiles: boolean
  /** The rows that need attention. */
  rows: ListedRows
}

/**
 * Returns the finished run that a `run_finished` error reports.
 *
 * @throws any other error
 */
export async function finishedRun(error: unknown, { stateDir }: Pick<BatchOptions, 'stateDir'>): Promise<FinishedRun> {
  if (!(error instanceof GdnError) || error.code !== 'run_finished') throw error
  const { run_id, kept_accepted, has_local_files, ...details } = error.details as {
    run_id: string
    kept_accepted: number
    removed: number
    removed_unsent: number
    removed_failed: number
    has_local_files: boolean
  }
  const { removed, removed_unsent: removedUnsent, removed_failed: removedFailed } = details
  const run = await openRun(stateDir, run_id)
  const status = await runStatus(run)
  const rows = await collectListedRows(runResults(run), status.counts, 0)
  return {
    status,
    kept: kept_accepted,
    removed: { removed, removedUnsent, removedFailed },
    hasLocalFiles: has_local_files,
    rows,
  }
}

/** The commands that can encounter a finished run. */
export type SendingCommand = 'mint' | 'resume' | 'retry' | 'retry --absent'

interface PrintContext {
  by: SendingCommand
  settings: Settings
  options: BatchOptions
  output: Output
  flags: BatchMintFlags
}

/**
 * Prints the summary of a finished run, with the same fields as after sending. A finished run without failed rows
 * counts as success, because a script may repeat its command.
 *
 * @throws GdnError `batch_failed_rows` if rows failed; `verify_failed` or `unreachable`, as in `refuseDiffering`
 */
export async function printFinished(
  deps: Deps,
  finished: FinishedRun,
  { by, settings, options, output, flags }: PrintContext,
): Promise<void> {
  const { io } = deps
  const { status, kept, rows } = finished
  const changes = { keptAccepted: kept }
  const limits = { '--max-cost': flags.maxCost, '--max-fee-gwei': flags.maxFeeGwei }
  const withoutEffect = Object.entries(limits).flatMap(([flag, limit]) =>
    limit === undefined ? [] : `${flag} is ignored because the run is finished.`,
  )
  const verified = flags.verify ? await verifyFinished(deps, settings, status, options, flags) : null
  // First update the record of the drop, because another machine may have sealed or revealed the drop.
  const drop = isShuffled(status)
    ? await (await import('./reveal/learn-drop.ts')).learnDropOf(deps, settings, status.id)
    : null
  const state = drop === null ? null : readDropState(drop)
  const data = {
    ...summaryData(
      { run: status, counts: withAbandoned(status.counts, state), burned: status.burned, ...ZERO_REQUESTS, changes },
      options,
      verified?.counts ?? null,
      [],
      [...withoutEffect, ...describeFinishedRun(finished, by, flags, deps.cwd)],
    ),
    ...UNKNOWN_RUN_COSTS,
  }
  if (output.mode === 'ndjson') await io.data(`${JSON.stringify({ event: 'summary', ...output.pick(data) })}\n`)
  else await output.one(data)
  const { counts, manifestPath } = status
  await writeJobSummary(deps, { run: status, counts, requests: 0, changes, ...rows, stopped: null, manifestPath })
  if (verified !== null) refuseDiffering(verified, counts)
  for (const note of withoutEffect) io.note(note)
  if (drop !== null && state?.phase !== 'open') {
    if (counts.failed === 0) noteFinished(deps, finished, { ...flags, by })
    for (const note of await describeDrop(deps, { ...drop, counts }, flags, false)) io.note(note)
    return
  }
  noteFinished(deps, finished, { ...flags, by })
  if (by === 'mint') for (const step of describeRevealSteps(status, flags, deps.cwd)) io.note(step)
}

const ZERO_REQUESTS = { requests: 0, attempts: 0, reconciled: null }

const NOTHING_TO_DO: Readonly<Record<SendingCommand, string>> = {
  mint: 'Nothing is left to do',
  resume: 'Nothing is left to do',
  retry: 'No row has failed',
  'retry --absent': 'No row is absent',
}

/** Returns a clause that all rows of a run are deployed. */
export function describeDeployed(run: string, total: number, burned: number): string {
  if (total === 1)
    return `the only row of the run ${run} is deployed${burned === 1 ? ', and has since been burned' : ''}`
  const lost = burned === 0 ? '' : `, and ${burned} of them ${burned === 1 ? 'has' : 'have'} since been burned`
  return `all ${total} rows of the run ${run} are deployed${lost}`
}

/**
 * Returns the notes on a finished run. If rows failed, omits the last notes, because the command ends with an error
 * instead.
 */
function describeFinishedRun(
  { status, kept, removed, hasLocalFiles }: FinishedRun,
  by: SendingCommand,
  flags: BatchMintFlags,
  cwd: string,
): string[] {
  const { name, counts, burned, manifestPath } = status
  const { failed, total } = counts
  const isList = isListDrop(status)
  const plan = formatPlanCommand(manifestPath && shortPath(manifestPath, cwd), flags)
  const receivers = removed.removed > 0 ? [removedReceiversText(removed.removed)] : []
  const gone = isList ? receivers : removedTexts(removed, plan)
  const notes = [...(kept > 0 ? [differingRowsText(kept, plan)] : []), ...gone]
  if (failed > 0) return notes
  notes.push(`${NOTHING_TO_DO[by]}: ${describeDeployed(name, total, burned)}.`)
  if (by !== 'mint') return notes
  if (hasLocalFiles && manifestPath !== null && !isList && flags.unrevealed === undefined) {
    notes.push(`The contents of files were not compared. Run ${plan} to compare them with the files of the NFTs.`)
  }
  if (isShuffled(status)) return notes
  const burnedHint = burned === 0 || isList || isUnrevealed(status) ? '' : ' To mint a burned row again, change its id.'
  return [...notes, `With --again, gdn mints every row a second time.${burnedHint}`]
}

/**
 * Prints that a run is finished.
 *
 * @throws GdnError `batch_failed_rows` if rows failed
 */
export function noteFinished(
  { io, cwd }: Pick<Deps, 'io' | 'cwd'>,
  finished: FinishedRun,
  { by, ...flags }: BatchMintFlags & { by: SendingCommand },
): void {
  const { status, rows } = finished
  const { name, counts, manifestPath } = status
  for (const note of describeFinishedRun(finished, by, flags, cwd)) io.note(safe(note))
  const { failed, total } = counts
  if (failed === 0) return
  const commands = runCommands(name, flags.stateDir)
  throw new GdnError('batch_failed_rows', `the run is finished; ${failed} of ${total} rows failed`, {
    hint: `Run \`${commands('results', '--status failed')}\` to list them.\n${failedStep(commands, rows.failedRows)}`,
    details: toRunErrorDetails({ ...rows, run: status, counts }, manifestPath),
  })
}
