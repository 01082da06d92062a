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
  const edits = more.reconcileOnly === true ? null : await warnOfEdits(deps, run, more, givenFlags)
  if (edits !== null && sends && !flags.dryRun && !flags.yes) await confirmStoredRows(deps, run, edits)
  const by: SendingCommand =
    more.retryAbsent === true ? 'retry --absent' : more.retryFailed === true ? 'retry' : 'resume'
  const mintsEdits = edits?.isEdited === true ? (edits.mint ?? undefined) : undefined
  const backend = await deps.identify(await settings.server())
  const check = async (connection: Connection) => {
    const { deployed, total } = status.counts
    if (more.reconcileOnly !== true && deployed < total) await refuseSealed(deps, connection, run, flags)
  }
  const sending = {
    settings,
    options: { ...options, backend, editedRows: edits?.editedRows },
    read: null,
    flags,
    check,
    mintsEdits,
  }
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
 * Asks the user to confirm that the stored rows are sent although the manifest was edited. Without a terminal, refuses
 * to send stored rows that the manifest no longer contains as they were stored. Their NFTs could not be changed back.
 *
 * @throws GdnError `not_confirmed`
 */
async function confirmStoredRows({ io }: Deps, run: Run, { isEdited, stale, mint }: EditsOfRun): Promise<void> {
  if (!isEdited) return
  const hint = mint === null ? '' : `To mint the manifest as it is now, run \`${mint}\`.`
  const question = 'Mint the rows as the run stored them?'
  if (io.isInteractive) return await io.confirm(question, '--yes', hint === '' ? {} : { hint })
  if (stale === 0) return
  const rows = `${count(stale, 'unsent row')} of the run ${run.name} ${stale === 1 ? 'was' : 'were'} edited or removed`
  throw new GdnError('not_confirmed', `${rows} in ${run.manifestPath}`, {
    hint: `Nothing was sent. ${hint} To mint the rows as the run stored them, add --yes.`,
  })
}

interface EditsOfRun {
  /** Whether the manifest differs from the stored rows. */
  isEdited: boolean
  /** The number of rows that the command would send, and that were edited in the manifest or removed from it. */
  stale: number
  /** The command that mints the manifest as it is now; null if the manifest can't be minted. */
  mint: string | null
  /**
   * The manifest rows whose content differs from the sent content; undefined if the manifest is unchanged or
   * unreadable.
   */
  editedRows?: ReadonlySet<string> | undefined
}

/**
 * Warns if the manifest differs from the stored rows, which are sent as stored. Returns null if the manifest is
 * unchanged, deleted, or from standard input.
 *
 * @throws GdnError `edited_rows` if failed rows would be sent that the manifest no longer contains as planned
 */
async function warnOfEdits(
  deps: Deps,
  run: Run,
  { retryFailed, retryAbsent }: Partial<BatchOptions>,
  flags: BatchMintFlags,
): Promise<EditsOfRun | null> {
  const edits = await findManifestEdits(deps, run, flags)
  if (edits === null) return null
  const { commands, isList, warnings, isInvalid, edited: editedRows, failed } = edits
  for (const warning of warnings) deps.io.warn(warning)
  // An unrevealed drop can only be minted with the committed rows.
  const mayBeEdited = retryFailed === true && !isUnrevealed(run)
  if (mayBeEdited && failed > 0) throw editedFailedError(edits)
  const unsent = edits.unsent.edited + edits.unsent.removed + (retryAbsent === true ? edits.absent : 0)
  const stale = isUnrevealed(run) ? 0 : unsent
  const mint = isInvalid || isUnrevealed(run) ? null : commands.mint
  const found = { stale, mint, editedRows }
  if (warnings.length === 0) return { isEdited: false, ...found }
  const next = isList
    ? `To mint the NFTs that were added to the list, run \`${commands.mint}\`.`
    : isInvalid
      ? `Run \`${commands.validate}\` to list the errors.`
      : isUnrevealed(run)
        ? 'To reveal the NFTs later, first restore the edited rows.'
        : stale > 0
          ? `To mint the manifest as it is now, run \`${commands.mint}\`.`
          : `To make the NFTs match the manifest, run \`${commands.apply}\`.`
  deps.io.warn(`The command uses the rows as the run stored them. ${next}`)
  return { isEdited: true, ...found }
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
