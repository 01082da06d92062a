import { runBatch } from '../../batch/run.ts'
import { openRun, type Run, runStatus } from '../../batch/runs/runs.ts'
import type { BatchOptions, RunStatus } from '../../batch/types.ts'
import { count } from '../../core/count.ts'
import { GdnError } from '../../core/errors.ts'
import { NOTHING_SENT_HINT, withNothingSent } from '../../core/nothing-sent.ts'
import { isShuffled, readDropState } from '../../reveal/drop-state.ts'
import { isUnrevealed } from '../../state/drops.ts'
import type { Connection, Deps } from '../deps.ts'
import { safe } from '../io/io.ts'
import { createOutput } from '../render/output.ts'
import { DRY_RUN_VIEW, printBatchDryRun } from './dry-run.ts'
import { findManifestEdits } from './edits-since.ts'
import { describeDeployed, finishedRun, printFinished, type SendingCommand } from './finished.ts'
import type { BatchMintFlags } from './options/flags.ts'
import { addRunSelection } from './options/format-flags.ts'
import { runOptions } from './options/run-options.ts'
import { summaryView } from './report/summary.ts'
import { sealedError } from './reveal/shuffled.ts'
import { addRunServerFlag, findRun, resolveRunSettings } from './runs/resolve-server.ts'
import { sendAndPrint } from './send-run.ts'

/** Resumes a run with its recorded rows, for resume, retry and reconcile. */
export async function resumeRun(
  deps: Deps,
  name: string,
  givenFlags: BatchMintFlags,
  more: Partial<BatchOptions> = {},
): Promise<void> {
  const { by, output, status, sending } = await openResume(deps, name, givenFlags, more).catch((error: unknown) => {
    throw withNothingSent(error, NOTHING_SENT_HINT)
  })
  const { settings, options, flags } = sending
  try {
    if (flags.dryRun) return await printBatchDryRun(deps, { ...sending, by, output })
    await sendAndPrint(deps, { ...sending, output, run: runBatch, known: status })
    const { deployed, total } = status.counts
    if (more.reconcileOnly === true && more.settle === undefined && deployed === total && !flags.verify) {
      deps.io.note(safe(`Nothing is left to reconcile: ${describeDeployed(status.name, total, status.burned)}.`))
    }
  } catch (error) {
    await printFinished(deps, await finishedRun(error, options), { by, settings, options, output, flags })
  }
}

/** Finds a run, its server and its rows to send. Prompts if the manifest was edited. */
async function openResume(deps: Deps, name: string, givenFlags: BatchMintFlags, more: Partial<BatchOptions>) {
  const { stateDir } = await deps.settings(givenFlags)
  const run = await findRunOnAnyServer(deps, name, givenFlags)
  const view = givenFlags.dryRun ? DRY_RUN_VIEW : summaryView(givenFlags.stateDir)
  const output = createOutput(deps.io, givenFlags, view, { manifest: run.manifestPath })
  const settings = await resolveRunSettings(deps, run, givenFlags)
  // The hints must contain these flags, which select the collection and the server of the run.
  const flags = addRunSelection(run, await addRunServerFlag(deps, run, givenFlags))
  const status = await runStatus(run)
  const sends = more.reconcileOnly !== true && rowsToSend(status, more) > 0
  const { pending, failed } = status.counts
  const finds = sends || (more.reconcileOnly === true && pending + failed > 0)
  const stored = await runOptions(run, finds)
  const options: BatchOptions = { ...flags, ...stored, stateDir, runName: stored.runName ?? flags.run, ...more }
  const { isEdited, editedRows } =
    more.reconcileOnly === true
      ? { isEdited: false, editedRows: undefined }
      : await warnOfEdits(deps, run, more, givenFlags)
  const mayPrompt = isEdited && deps.io.isInteractive && !flags.dryRun && !flags.yes
  if (mayPrompt && sends) await confirmPlannedRows(deps)
  const by: SendingCommand =
    more.retryAbsent === true ? 'retry --absent' : more.retryFailed === true ? 'retry' : 'resume'
  const backend = await deps.identify(await settings.server())
  const check = async (connection: Connection) => {
    const { deployed, total } = status.counts
    if (more.reconcileOnly !== true && deployed < total) await refuseSealed(deps, connection, run, flags)
  }
  const sending = { settings, options: { ...options, backend, editedRows }, read: null, flags, check }
  return { by, output, status, sending }
}

/**
 * Refuses to resume a sealed drop.
 *
 * @throws GdnError `refused` if the run is a sealed shuffled drop, because its remaining rows can't be minted
 */
async function refuseSealed(deps: Deps, connection: Connection, run: Run, flags: BatchMintFlags): Promise<void> {
  if (!isShuffled(run)) return
  const { learnDrop } = await import('./reveal/learn-drop.ts')
  const phase = readDropState(await learnDrop(deps, connection, run))?.phase
  if (phase !== 'open') throw sealedError(run.manifestPath, { isRevealed: phase === 'drawn' }, flags)
}

/**
 * Finds a run on any server, because `resolveRunSettings` later rejects a flag that selects a different server. If
 * several runs match, the server flag selects one of them.
 */
async function findRunOnAnyServer(deps: Deps, name: string, flags: BatchMintFlags): Promise<Run> {
  const { stateDir } = await deps.settings(flags)
  try {
    return await openRun(stateDir, name, { collection: flags.contract, cwd: deps.cwd })
  } catch {
    return await findRun(deps, name, flags)
  }
}

/** Returns the number of rows that may be sent. Accepted rows aren't sent again. */
const rowsToSend = (
  { counts: { pending, failed, unknown } }: RunStatus,
  { retryFailed }: Partial<BatchOptions>,
): number => pending + unknown + (retryFailed === true ? failed : 0)

/**
 * Asks the user to confirm that the planned rows are sent although the manifest was edited.
 *
 * @throws GdnError `not_confirmed`
 */
async function confirmPlannedRows({ io }: Deps): Promise<void> {
  await io.confirm('Send the rows as they were planned?', '--yes')
}

interface ManifestEdits {
  /** Whether the manifest differs from the planned rows. */
  isEdited: boolean
  /**
   * The manifest rows whose content differs from the sent content; undefined if the manifest is unchanged or
   * unreadable.
   */
  editedRows?: ReadonlySet<string> | undefined
}

/**
 * Warns if the manifest differs from the planned rows, which are sent as planned.
 *
 * @throws GdnError `edited_rows` if failed rows would be sent that the manifest no longer contains as planned
 */
async function warnOfEdits(
  deps: Deps,
  run: Run,
  { retryFailed }: Partial<BatchOptions>,
  flags: BatchMintFlags,
): Promise<ManifestEdits> {
  const edits = await findManifestEdits(deps, run, flags)
  if (edits === null) return { isEdited: false }
  const { commands, isList, warnings, isInvalid, edited: editedRows, failed } = edits
  for (const warning of warnings) deps.io.warn(warning)
  // An unrevealed drop can only be minted with the committed rows.
  const mayBeEdited = retryFailed === true && !isUnrevealed(run)
  if (mayBeEdited && failed > 0) throw editedFailedError(edits)
  if (warnings.length === 0) return { isEdited: false, editedRows }
  const next = isList
    ? `To mint the NFTs that were added to the list, run \`${commands.mint}\`.`
    : isInvalid
      ? `Run \`${commands.validate}\` to list the errors.`
      : isUnrevealed(run)
        ? 'To reveal the NFTs later, first restore the edited rows.'
        : `To make the NFTs match the manifest, run \`${commands.apply}\`.`
  deps.io.warn(`The run continues with the planned rows. ${next}`)
  return { isEdited: true, editedRows }
}

/**
 * Creates the error for edited failed rows. A failed row has no NFT, so its edited version can still be minted. Sending
 * the planned row would ignore the user's correction.
 */
function editedFailedError({
  file,
  commands,
  failed,
}: NonNullable<Awaited<ReturnType<typeof findManifestEdits>>>): GdnError {
  const isOne = failed === 1
  const message = `${count(failed, 'failed row')} of the run ${isOne ? 'was' : 'were'} edited or removed in ${file}`
  return new GdnError('edited_rows', message, {
    hint: `Nothing was sent. To send the edited rows, run \`${commands.mint}\`. To send the rows as they were planned, revert the edits.`,
  })
}
