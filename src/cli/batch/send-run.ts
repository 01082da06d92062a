import type { Blockchain } from '../../api/blockchains.ts'
import type { runBatch } from '../../batch/run.ts'
import { runRows } from '../../batch/run-rows.ts'
import { openRun } from '../../batch/runs.ts'
import type {
  BatchEvent,
  BatchOptions,
  BatchSummary,
  PlannedEvent,
  PlannedMints,
  RunStatus,
} from '../../batch/types.ts'
import { limitIn, type RunLimit } from '../../client/run-limit.ts'
import type { Server } from '../../config/server.ts'
import type { Settings } from '../../config/settings.ts'
import { GdnError, messageOf } from '../../core/errors.ts'
import type { ManifestItem } from '../../manifest/read.ts'
import type { RowWarnings } from '../../manifest/row-warnings.ts'
import { IN_FLIGHT } from '../../operations/defaults.ts'
import { openVerifier, type VerifyFlags } from '../connect/open-verifier.ts'
import { noteLimit, type PricedUse, sufficientLimit, warnOfSigned } from '../cost/at-most.ts'
import { confirmSpending } from '../cost/confirm-spending.ts'
import { openMeter } from '../cost/estimate.ts'
import { costLimit, type LimitFlags } from '../cost/limit.ts'
import { feeLimit } from '../cost/max-fee.ts'
import { meterRun, NOTHING_KNOWN } from '../cost/paid.ts'
import { sumOf, worstOfChanges } from '../cost/run-limit.ts'
import type { Connection, Deps } from '../deps.ts'
import { isInActions } from '../io/in-actions.ts'
import { safe } from '../io/io.ts'
import type { DataRecord } from '../render/cells.ts'
import { count } from '../render/count.ts'
import type { Output } from '../render/output.ts'
import { checkFiles, type FileUrls, filesProblem, printWarnings } from './check-files.ts'
import { EventLines } from './event-lines.ts'
import type { BatchMintFlags } from './flags.ts'
import { type LocalFiles, noPlaceForFiles } from './local-files.ts'
import { BatchProgress } from './progress.ts'
import { confirmDuplicates, printRowWarnings } from './row-warnings.ts'
import { runCommands } from './run-commands.ts'
import { differingRows, errorOfRun } from './run-error.ts'
import { burnedText, printNextSteps, summaryData } from './summary.ts'
import { type ReadRecords, recordsOf, verifyRows } from './verify-rows.ts'
import { VerifyTally } from './verify-tally.ts'

interface Sending {
  settings: Settings
  options: BatchOptions
  /** Null resumes with the rows as recorded. */
  read: (() => AsyncIterable<ManifestItem>) | null
  /** File URLs to check after the manifest was read and before anything is sent. */
  files?: FileUrls | null
  /** The local files of the manifest; null if it isn't read. */
  localFiles?: LocalFiles | null
  /** What is valid in the manifest, but most likely not intended. */
  warnings?: RowWarnings
  flags: Pick<BatchMintFlags, 'yes' | 'rate' | 'stateDir' | 'allowDuplicates'> & VerifyFlags & LimitFlags
  run: typeof runBatch
  /** Called after the confirmation. Throws to refuse the run. */
  check?: ((planned: PlannedEvent, connection: Connection) => Promise<void>) | undefined
  /** Called once the limit of the run is set, before anything that costs is sent. Requests of the run carry the limit. */
  beforeSending?: ((planned: PlannedEvent, connection: Connection, limit: RunLimit) => Promise<void>) | undefined
  /** Requests of the run in addition to its mints. */
  others?: number
  /** The limit that this command was given, in wei; read from the flags if undefined. */
  given?: bigint | null
  /** The command that resumes the run; `gdn batch resume` if undefined. */
  resumedBy?: string | undefined
  /** Whether `gdn apply` sends it, which also retries rows, and updates edited ones. */
  isApplied?: boolean
  /** The status of a resumed run. */
  known?: RunStatus
  onEvent?: (event: BatchEvent) => void
}

/** The outcome of a run, and of its verification if one was requested. */
export interface SentRun {
  summary: BatchSummary
  verified: VerifyTally | null
  /** What the run has paid meanwhile. The fields are null if the server doesn't say it. */
  paid: DataRecord
}

/** Sends a run, and prints its summary or, as NDJSON, its events. @throws GdnError if rows are not as requested */
export async function sendAndPrint(deps: Deps, { output, ...sending }: Sending & { output: Output }): Promise<void> {
  const { io } = deps
  const { flags, options } = sending
  const events = output.mode === 'ndjson' ? new EventLines(io) : null
  try {
    const sent = await sendRun(deps, events === null ? sending : { ...sending, onEvent: (event) => events.tell(event) })
    const data = { ...summaryData(sent.summary, options, sent.verified?.counts ?? null), ...sent.paid }
    if (events === null) await output.one(data)
    else await events.end(output.pick(data))
    await refuseFailure(deps, sent, sending)
    if (sent.summary.burned > 0) io.note(burnedText(sent.summary.burned))
    if (!io.stdoutTty || output.mode !== 'table') printNextSteps(io, sent.summary, flags.stateDir)
  } finally {
    await events?.written()
  }
}

/** Sends a run with progress, and verifies it if requested. */
export async function sendRun(
  deps: Deps,
  { settings, options, read, files = null, localFiles = null, flags, run, ...sending }: Sending,
): Promise<SentRun> {
  const { check, beforeSending, known, others = 0, onEvent, isApplied = false, warnings } = sending
  const { io, signals } = deps
  const connection = await deps.connect(settings, 'bulk')
  const { client, server, pacer } = connection
  const progress = new BatchProgress(io, signals, known)
  try {
    const { maxCost, maxFeeGwei } = options.reconcileOnly === true ? {} : flags
    const { blockchain } = options
    const stated =
      maxCost === undefined || sending.given !== undefined
        ? null
        : await costLimit(deps, { ...flags, maxCost }, settings, blockchain, { client, server })
    const limit = sending.given === undefined ? (stated?.wei ?? null) : sending.given
    const maxFee = maxFeeGwei === undefined ? null : await feeLimit(deps, maxFeeGwei, blockchain, { client, server })
    await progress.start()
    let largest = 1
    let paidSince = async (): Promise<DataRecord> => NOTHING_KNOWN
    const summary = await run(
      {
        ...options,
        ...(limit === null ? {} : { maxCost: limit }),
        ...(maxFee === null ? {} : { maxFee }),
        inFlight: IN_FLIGHT,
        signal: signals.signal,
      },
      {
        client,
        pacer,
        now: deps.steadyNow,
        sleep: deps.sleep,
        readManifest: read,
        onEvent: (event) => {
          progress.tell(event)
          onEvent?.(event)
        },
        permit: async (planned, kept) => {
          await stated?.refuseBelowOne(hasBegun(planned))
          return await permitRun(deps, planned, { connection, blockchain, given: limit, kept, others })
        },
        confirm: async (planned, runLimit, mints) => {
          const rows = planned.rows.pending
          progress.stop()
          printPlan(deps, planned, isApplied)
          if (rows > 0) {
            printRowWarnings(deps, warnings)
            await confirmDuplicates(deps, flags.allowDuplicates, planned.duplicates, warnings?.file)
            await checkPlannedFiles(deps, planned, { client, server, files, localFiles })
            const what = `Mint ${count(rows, 'NFT')} for ${count(planned.receivers, 'receiver')}`
            const onMint = (rows: number) => {
              largest = Math.max(largest, rows)
            }
            const worst = () => worstOfMints(mints, others, onMint)
            const priced = { limit, kept: limitIn(runLimit), run: planned.run.id, worst }
            if (flags.yes) await noteLimit(deps, connection, blockchain, priced)
            else await confirmSpending(deps, false, blockchain, connection, what, priced)
          }
          paidSince = await meterRun(deps, connection, planned.run.id)
          await check?.(planned, connection)
        },
        beforeSending: async (planned, runLimit) => {
          if (limit !== null && planned.rows.accepted + planned.rows.unknown > 0)
            await warnOfSigned(deps, connection, { limit, run: planned.run.id })
          await beforeSending?.(planned, connection, runLimit)
          await progress.start()
        },
      },
    )
    progress.stop()
    const verifies = flags.verify && summary.stopped === null
    const records = recordsOf(deps, async () => connection)
    const paid = await paidSince()
    return {
      summary: await withEnoughCost(deps, connection, summary, options, { largest, others }),
      paid,
      verified: verifies ? await verify(deps, summary, options, { flags, server, records }) : null,
    }
  } finally {
    progress.stop()
    await client.close()
  }
}

/** Whether a run may have sent rows, for which its limit holds. */
export const hasBegun = ({ rows: { accepted, unknown, deployed } }: PlannedEvent): boolean =>
  accepted + unknown + deployed > 0

/** Returns what requests use at most, with the commitment of an unrevealed drop, and the estimate for the mints. */
async function worstOfMints(
  { dynamic, each }: PlannedMints,
  others: number,
  onMint: (rows: number) => void,
): Promise<PricedUse> {
  const meter = await openMeter(dynamic)
  for await (const { receiver, sender, count } of each()) {
    meter.add(receiver, count, sender)
    onMint(count)
  }
  const estimate = meter.total()
  return { ...sumOf([estimate.worst, await worstOfChanges('provenance', others)]), estimate }
}

/** Returns the summary, which names a sufficient limit if the run was stopped by its limit. */
async function withEnoughCost(
  deps: Deps,
  connection: Connection,
  summary: BatchSummary,
  { stateDir, blockchain, dynamic }: BatchOptions,
  { largest, others }: { largest: number; others: number },
): Promise<BatchSummary> {
  const { run, stopped } = summary
  if (stopped?.code !== 'max_cost') return summary
  const worst = async () => {
    const left = new Map<string, { receiver: string; sender: string | null; rows: number }>()
    for await (const { result, row } of runRows(await openRun(stateDir, run.id))) {
      if (result.status !== 'pending' || row === null) continue
      const { receiver, sender } = row
      const group = left.get(`${sender} ${receiver}`)
      if (group === undefined) left.set(`${sender} ${receiver}`, { receiver, sender, rows: 1 })
      else group.rows++
    }
    const meter = await openMeter(dynamic)
    for (const { receiver, sender, rows } of left.values()) {
      for (let from = 0; from < rows; from += largest) meter.add(receiver, Math.min(largest, rows - from), sender)
    }
    return sumOf([meter.total().worst, await worstOfChanges('provenance', others)])
  }
  const enough = await sufficientLimit(deps, connection, { blockchain, run: run.id, worst })
  if (enough === null) return summary
  const hint = `The rows that were not accepted stay planned. To send them, run the same command with --max-cost ${enough} or more, which is enough at the current fees.`
  return { ...summary, stopped: { ...stopped, hint } }
}

/** Writes the job summary. @throws GdnError if rows are not as requested */
export async function refuseFailure(
  deps: Deps,
  { summary, verified }: SentRun,
  { options, flags, resumedBy, isApplied }: Pick<Sending, 'options' | 'flags' | 'resumedBy' | 'isApplied'>,
): Promise<void> {
  const commands = runCommands(summary.run.name, flags.stateDir, {
    resume: resumedBy,
    retry: isApplied ? resumedBy : undefined,
  })
  const failure = errorOfRun(summary, commands, verified ?? undefined, options.manifestPath)
  if (options.reconcileOnly !== true) await writeJobSummary(deps, summary)
  if (failure !== null) throw failure
  if (verified !== null) refuseUnverified(verified)
}

interface Limits {
  connection: Connection
  blockchain: Blockchain
  /** The limit that this command was given, and that of the run. */
  given: bigint | null
  kept: bigint | null
  others: number
}

/** Returns the limit that each request carries. Requests of unknown outcome may be sent again. */
async function permitRun(
  deps: Deps,
  { run, rows }: PlannedEvent,
  { connection, blockchain, given, kept, others }: Limits,
): Promise<bigint | null> {
  const count = rows.pending + rows.unknown + others
  // A limit that this command was given also lets accepted rows go on.
  if (count === 0 && given === null) return null
  const maxCost = given ?? kept
  return await deps.permit({
    connection,
    blockchain,
    kind: 'nft',
    count,
    run: {
      id: run.id,
      isOperation: false,
      canLimit: true,
      accepted: rows.accepted,
      maxCost: maxCost === null ? null : { wei: maxCost, isSet: given !== null },
    },
  })
}

interface PlannedFiles {
  client: Connection['client']
  server: Server
  files: FileUrls | null
  localFiles: LocalFiles | null
}

/** Checks that there is a storage for local files and, if requested, that file URLs can be read. */
export async function checkPlannedFiles(
  deps: Deps,
  planned: PlannedEvent,
  { client, server, files, localFiles }: PlannedFiles,
): Promise<void> {
  if (planned.files > 0 && !(await client.hasPlaceForFiles(deps.signals.signal))) {
    throw noPlaceForFiles(server.origin, localFiles)
  }
  if (files === null) return
  const check = await checkFiles(deps, files, server)
  printWarnings(deps.io, check)
  const problem = filesProblem(check)
  if (problem !== null) throw problem
}

/** Writes the outcome to the job summary in GitHub Actions. */
async function writeJobSummary({ env, io }: Deps, summary: BatchSummary): Promise<void> {
  if (!isInActions(env)) return
  const { addJobSummary } = await import('../render/github-actions.ts')
  const problem = await addJobSummary(summary, env)
  if (problem !== null) io.debug(safe(`can't write the job summary: ${messageOf(problem)}`))
}

/** Verifies a run that was finished before. */
export async function verifyFinished(
  deps: Deps,
  settings: Settings,
  run: RunStatus,
  options: BatchOptions,
  flags: VerifyFlags,
): Promise<VerifyTally> {
  const server = await settings.server()
  const records = recordsOf(deps, () => deps.connect(settings))
  return await verify(deps, { run, counts: run.counts }, options, { flags, server, records })
}

/** @throws GdnError `verify_failed` if rows differ from their requests, or none was verified */
export function refuseDiffering(tally: VerifyTally): void {
  if (tally.differing.length > 0) throw differingRows(tally)
  refuseUnverified(tally)
}

/** Rejects a verification that verified nothing: a script must not read it as a success. */
function refuseUnverified(tally: VerifyTally): void {
  tally.refuseUnread()
  if (tally.counts.verified + tally.counts.changed > 0) return
  throw new GdnError('pending', 'no row is deployed, so none was verified', {
    hint: 'Run the same command again without --no-wait.',
  })
}

/** Compares deployed rows with chain and storage, and warns about those that can't be read. */
async function verify(
  deps: Deps,
  { run, counts }: Pick<BatchSummary, 'run' | 'counts'>,
  { stateDir, blockchain }: BatchOptions,
  { flags, server, records }: { flags: VerifyFlags; server: Server; records: ReadRecords },
): Promise<VerifyTally> {
  const { verifier, close } = await openVerifier(deps, flags, blockchain, server)
  const tally = new VerifyTally()
  const text = () => {
    const { verified, changed, differing, unread } = tally.counts
    return `Comparing with chain and storage: ${verified + changed + differing + unread} of ${counts.deployed}`
  }
  const progress = await deps.io.progress(text())
  try {
    for await (const row of verifyRows(runRows(await openRun(stateDir, run.id)), verifier, records)) {
      tally.add(row)
      progress.update(text())
    }
  } finally {
    progress.stop()
    await close()
  }
  tally.warn(deps.io)
  return tally
}

/** Describes rows with an ID that were edited after they were sent. */
export const keptText = (rows: number): string =>
  `${count(rows, 'changed row')} ${rows === 1 ? 'was' : 'were'} sent before and won't be sent again. Run \`gdn plan\` to compare ${rows === 1 ? 'it with its NFT' : 'them with their NFTs'}.`

/**
 * Prints the plan of a run before it is sent, with changes since the last time.
 *
 * @param isApplied whether it is part of `gdn apply`, which has printed the changes of rows
 */
function printPlan(
  { io }: Deps,
  { run, resumed, rows, requests, receivers, reordered, files, changes, notes = [] }: PlannedEvent,
  isApplied: boolean,
): void {
  io.note(`Run ${io.errPaint.bold(safe(run.name))}${resumed ? ', resumed' : ''}`)
  const uploads = files === 0 ? '' : `, ${count(files, 'row')} with local files`
  io.note(
    rows.pending === 0
      ? '  No rows to send'
      : `  ${count(rows.pending, 'row')} to send to ${count(receivers, 'receiver')} in ${count(requests, 'request')}${uploads}`,
  )
  const sent = rows.total - rows.pending
  if (resumed && sent > 0)
    io.note(`  ${sent} of ${count(rows.total, 'row')} ${sent === 1 ? 'was' : 'were'} sent before`)
  for (const note of notes) io.note(`  ${safe(note)}`)
  if (reordered) io.note("  Token IDs won't follow the manifest's order. Add --in-order to keep it.")
  const { added, changed, removed, keptAccepted, examples } = changes
  if (resumed && added + changed + removed > 0) {
    io.note(`  The manifest changed: ${count(added, 'row')} added, ${changed} changed, ${removed} removed.`)
    if (isApplied) return
    if (keptAccepted > 0) io.note(`  ${keptText(keptAccepted)}`)
    for (const { kind, key, line } of examples.slice(0, 5)) io.note(`    ${kind}: ${safe(key)} (line ${line})`)
  }
}
