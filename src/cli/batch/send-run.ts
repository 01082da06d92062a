import { messageOf } from '../../core/errors.ts'
import { NOTHING_SENT_HINT, withNothingSent } from '../../core/nothing-sent.ts'
import { isShuffled, readDropState, withAbandoned } from '../../reveal/drop-state.ts'
import { readCostLimit } from '../cost/limit.ts'
import { checkFeeLimit } from '../cost/max-fee.ts'
import type { Connection, Deps } from '../deps.ts'
import { isInActions } from '../io/in-actions.ts'
import { safe } from '../io/io.ts'
import type { JobSummary } from '../render/github-actions.ts'
import type { Output } from '../render/output.ts'
import { isV12 } from '../request/api-version.ts'
import { addRunSelection } from './options/format-flags.ts'
import { EventLines } from './progress/event-lines.ts'
import { BatchProgress } from './progress/progress.ts'
import { createRunError, explainStop } from './report/run-error.ts'
import { printNextSteps, summaryData } from './report/summary.ts'
import { describeDrop, describeRevealSteps } from './reveal/next-reveal.ts'
import { sealedError } from './reveal/shuffled.ts'
import { type RunInput, type RunLimits, RunSender, type SentRun } from './run-sender.ts'
import { runCommands } from './runs/run-commands.ts'
import { refuseUnverified } from './verify/verify-run.ts'

/**
 * Sends a run and prints its summary. With NDJSON output, prints the run's events too.
 *
 * @throws GdnError if the run has problems
 */
export async function sendAndPrint(deps: Deps, { output, ...sending }: RunInput & { output: Output }): Promise<void> {
  const { io } = deps
  const { flags, options } = sending
  const events = output.mode === 'ndjson' ? new EventLines(io) : null
  try {
    const sentRun = await sendRun(
      deps,
      events === null ? sending : { ...sending, onEvent: (event) => events.handleEvent(event) },
    )
    const { summary, verified, warnings, notes, paid } = sentRun
    const { manifestPath, reading = sending.known?.reading ?? {} } = options
    // First update the record of the drop, because another machine may have sealed or revealed the drop.
    const drop = isShuffled({ reading })
      ? await (await import('./reveal/learn-drop.ts')).learnDropOf(deps, sending.settings, summary.run.id)
      : null
    const state = drop === null ? null : readDropState(drop)
    const summarized = { ...summary, counts: withAbandoned(summary.counts, state) }
    const data = { ...summaryData(summarized, options, verified?.counts ?? null, warnings, notes), ...paid }
    if (events === null) await output.one(data)
    else await events.end(output.pick(data))
    const { counts } = summary
    if (drop !== null && state?.phase !== 'open' && counts.unknown + counts.accepted === 0) {
      for (const note of await describeDrop(deps, { ...drop, counts }, flags, false)) io.note(note)
      // If rows are abandoned, another machine sealed the drop while this command was sending rows.
      const isRefused = options.reconcileOnly !== true && summarized.counts.abandoned > 0
      if (isRefused)
        throw sealedError(manifestPath, { isRevealed: state?.phase === 'drawn' }, addRunSelection(drop, flags))
      return
    }
    await refuseFailure(deps, sentRun, sending)
    if (!io.stdoutTty || output.mode !== 'table') printNextSteps(io, summarized, flags.stateDir)
    if (sending.options.reconcileOnly !== true) {
      for (const step of describeRevealSteps({ reading, manifestPath }, flags, deps.cwd)) io.note(step)
    }
  } finally {
    await events?.waitUntilWritten()
  }
}

/** Sends a run with progress, and verifies it if requested. */
export async function sendRun(deps: Deps, sending: RunInput): Promise<SentRun> {
  const { settings, options, run, known } = sending
  const connection = await deps.connect(settings, 'bulk')
  const progress = new BatchProgress(deps.io, deps.signals, known)
  try {
    const limits = await checkAndFindLimits(deps, sending, connection, progress).catch((error: unknown) => {
      throw withNothingSent(error, NOTHING_SENT_HINT)
    })
    const { maxCost, maxFee } = limits
    const sender = new RunSender(deps, sending, connection, limits, progress)
    const summary = await run(
      {
        ...options,
        maxCostWei: maxCost ?? undefined,
        maxFeeWei: maxFee ?? undefined,
        hasCreatednft: isV12(settings),
        signal: deps.signals.signal,
      },
      sender.callbacks(),
    )
    progress.stop()
    return await sender.result({ ...summary, stopped: await explainStop(settings, summary.stopped) })
  } finally {
    progress.stop()
    await connection.client.close()
  }
}

/** Determines the limits of a run, runs the caller's check, and returns the limits. */
async function checkAndFindLimits(deps: Deps, sending: RunInput, connection: Connection, progress: BatchProgress) {
  const limits = await findRunLimits(deps, sending, connection)
  await progress.start()
  await sending.check?.(connection)
  return limits
}

async function findRunLimits(
  deps: Deps,
  { settings, options, flags, commandLimit }: RunInput,
  { client, server }: Connection,
): Promise<RunLimits> {
  const { blockchain } = options
  const { maxCost, maxFeeGwei } = options.reconcileOnly === true ? {} : flags
  const flagLimit =
    maxCost === undefined || commandLimit !== undefined
      ? null
      : await readCostLimit(deps, { client, server }, { flags: { ...flags, maxCost }, settings, blockchain })
  const maxFee = maxFeeGwei === undefined ? null : await checkFeeLimit(deps, maxFeeGwei, blockchain, { client, server })
  return { flagLimit, maxCost: commandLimit === undefined ? (flagLimit?.wei ?? null) : commandLimit, maxFee }
}

/**
 * Writes the job summary, and throws if the run has problems.
 *
 * @throws GdnError if the run has problems, or if no row was verified
 */
export async function refuseFailure(
  deps: Deps,
  { summary, verified }: SentRun,
  {
    options,
    flags,
    resumedBy,
    mintsEdits,
    isApplied,
  }: Pick<RunInput, 'options' | 'flags' | 'resumedBy' | 'mintsEdits' | 'isApplied'>,
): Promise<void> {
  const commands = runCommands(summary.run.name, flags.stateDir, {
    resume: resumedBy,
    retry: isApplied ? resumedBy : undefined,
  })
  const failure = createRunError(summary, commands, verified ?? undefined, options.manifestPath)
  if (options.reconcileOnly !== true) await writeJobSummary(deps, { ...summary, manifestPath: options.manifestPath })
  if (failure !== null && mintsEdits !== undefined && summary.counts.pending > 0) {
    throw failure.with({
      hint: `To mint the manifest as it is now, run \`${mintsEdits}\`.\n${failure.hint ?? ''}`.trimEnd(),
    })
  }
  if (failure !== null) throw failure
  if (verified !== null) refuseUnverified(verified)
}

/** Writes the outcome to the job summary in GitHub Actions. */
export async function writeJobSummary({ env, cwd, io }: Deps, summary: JobSummary): Promise<void> {
  if (!isInActions(env)) return
  const { addJobSummary } = await import('../render/github-actions.ts')
  const problem = await addJobSummary(summary, { env, cwd })
  if (problem !== null) io.debug(safe(`can't write the job summary: ${messageOf(problem)}`))
}
