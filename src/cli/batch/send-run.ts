import type { runBatch } from '../../batch/run.ts'
import type { BatchEvent, BatchOptions, BatchSummary, PlannedEvent, RunStatus } from '../../batch/types.ts'
import { limitIn, type RunLimit } from '../../client/run-limit.ts'
import type { Server } from '../../config/server.ts'
import type { Settings } from '../../config/settings.ts'
import { messageOf } from '../../core/errors.ts'
import type { ManifestItem } from '../../manifest/read.ts'
import type { ManifestIssue } from '../../manifest/row.ts'
import type { RowWarnings } from '../../manifest/row-warnings.ts'
import { IN_FLIGHT } from '../../operations/defaults.ts'
import type { VerifyFlags } from '../connect/open-verifier.ts'
import { noteCost, shortageOfRun, sufficientLimit, type Unsent, warnOfSigned } from '../cost/at-most.ts'
import { confirmSpending } from '../cost/confirm-spending.ts'
import { costLimit, type LimitFlags } from '../cost/limit.ts'
import { feeLimit } from '../cost/max-fee.ts'
import { meterRun, NOTHING_KNOWN } from '../cost/paid.ts'
import { sumOf, type WorstUse, worstOfChanges } from '../cost/run-limit.ts'
import type { Connection, Deps } from '../deps.ts'
import { isInActions } from '../io/in-actions.ts'
import { safe } from '../io/io.ts'
import type { DataRecord } from '../render/cells.ts'
import type { JobSummary } from '../render/github-actions.ts'
import type { Output } from '../render/output.ts'
import { checkFiles, type FileUrls, filesProblem, printWarnings } from './check-files.ts'
import { EventLines } from './event-lines.ts'
import type { BatchMintFlags } from './flags.ts'
import { type LocalFiles, noPlaceForFiles } from './local-files.ts'
import { printPlan } from './print-plan.ts'
import { BatchProgress } from './progress.ts'
import { confirmDuplicates, duplicateWarnings } from './row-warnings.ts'
import { runCommands } from './run-commands.ts'
import { permitRun, questionOfRun, unsentRows, withEnoughCost, worstOfMints } from './run-costs.ts'
import { errorOfRun } from './run-error.ts'
import { printNextSteps, summaryData } from './summary.ts'
import { recordsOf } from './verify-rows.ts'
import { refuseUnverified, verifyRun } from './verify-run.ts'
import type { VerifyTally } from './verify-tally.ts'

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
  /**
   * Called once the limit of the run is set, before anything that costs is sent. Requests of the run carry the limit.
   */
  beforeSending?: ((planned: PlannedEvent, connection: Connection, limit: RunLimit) => Promise<void>) | undefined
  /** Requests of the run in addition to its mints. */
  others?: number
  /** The changes of NFTs that follow the mints, and what they use at most. */
  changes?: Required<Pick<Unsent, 'changes' | 'worst'>> | undefined
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

const NO_CHANGES: Required<Pick<Unsent, 'changes' | 'worst'>> = { changes: 0, worst: { gasLimit: 0n, bytes: 0 } }

/** The outcome of a run, and of its verification if one was requested. */
export interface SentRun {
  summary: BatchSummary
  verified: VerifyTally | null
  /** What is valid in the manifest, but most likely not intended, if it has rows to send. */
  warnings: readonly ManifestIssue[]
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
    const data = { ...summaryData(sent.summary, options, sent.verified?.counts ?? null, sent.warnings), ...sent.paid }
    if (events === null) await output.one(data)
    else await events.end(output.pick(data))
    await refuseFailure(deps, sent, sending)
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
  const {
    check,
    beforeSending,
    known,
    others = 0,
    changes = NO_CHANGES,
    onEvent,
    isApplied = false,
    warnings,
  } = sending
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
    const seen = { run: '', pending: 0 }
    let unsent: { pending: number; rows: ReturnType<typeof unsentRows> } | null = null
    /** Reads unsent rows again only after some were sent: a large run has many. */
    const readUnsent = (): ReturnType<typeof unsentRows> => {
      if (unsent?.pending === seen.pending) return unsent.rows
      unsent = { pending: seen.pending, rows: unsentRows(seen.run, { ...options, largest }) }
      return unsent.rows
    }
    const enoughCost = async (): Promise<string | null> => {
      const provenance = await worstOfChanges('provenance', others)
      const worst = async () => sumOf([(await readUnsent()).reserved, provenance])
      return await sufficientLimit(deps, connection, { blockchain, run: seen.run, worst })
    }
    let found: ManifestIssue[] = []
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
        shortage: async () => {
          const unsent = async () => {
            const { rows, worst, smallestMint, reserved } = await readUnsent()
            const ofRows = changes.changes === 0 ? smallestMint : 0n
            const withChanges = (use: WorstUse) => sumOf([use, changes.worst])
            return {
              rows,
              changes: changes.changes,
              worst: withChanges(worst),
              smallestMint: ofRows,
              reserved: withChanges(reserved),
            }
          }
          return await shortageOfRun(deps, connection, { blockchain, run: seen.run, unsent })
        },
        sufficientLimit: enoughCost,
        onEvent: (event) => {
          if (event.type === 'planned') seen.run = event.run.id
          if (event.type === 'rows') seen.pending = event.counts.pending
          progress.tell(event)
          onEvent?.(event)
        },
        permit: async (planned, kept) => {
          await stated?.refuseBelowOne(hasBegun(planned))
          return await permitRun(deps, planned, { connection, blockchain, given: limit, kept, maxFee, others })
        },
        confirm: async (planned, runLimit, mints) => {
          const rows = planned.rows.pending
          largest = Math.max(largest, mints.largest)
          progress.stop()
          printPlan(deps, planned, isApplied)
          if (rows > 0) {
            const inRows = warnings?.all ?? []
            printWarnings(io, { warnings: inRows })
            await confirmDuplicates(deps, flags.allowDuplicates, planned.duplicates, warnings?.file)
            const inFiles = await checkPlannedFiles(deps, planned, { client, server, files, localFiles })
            found = [...inRows, ...duplicateWarnings(warnings?.file ?? '', planned.duplicates), ...inFiles]
          }
          const worst = () => worstOfMints(mints, others)
          const priced = { limit, kept: limitIn(runLimit), maxFee, run: planned.run.id, worst }
          if (flags.yes) {
            if (rows > 0) await noteCost(deps, connection, blockchain, priced)
          } else {
            const limits = { connection, blockchain, given: limit, maxFee }
            const asked = await questionOfRun(deps, planned, { ...limits, ...options })
            if (asked !== null) {
              const { what, accepted } = asked
              await confirmSpending(deps, false, blockchain, connection, what, { ...priced, accepted })
            }
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
      summary: await withEnoughCost(summary, enoughCost),
      paid,
      warnings: found,
      verified: verifies ? await verifyRun(deps, summary, options, { flags, server, records }) : null,
    }
  } finally {
    progress.stop()
    await client.close()
  }
}

/** Whether a run may have sent rows, for which its limit holds. */
export const hasBegun = ({ rows: { accepted, unknown, deployed } }: PlannedEvent): boolean =>
  accepted + unknown + deployed > 0

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

interface PlannedFiles {
  client: Connection['client']
  server: Server
  files: FileUrls | null
  localFiles: LocalFiles | null
}

/**
 * Checks that there is a storage for local files and, if requested, that file URLs can be read. Returns the warnings
 * that it printed.
 */
export async function checkPlannedFiles(
  deps: Deps,
  planned: PlannedEvent,
  { client, server, files, localFiles }: PlannedFiles,
): Promise<ManifestIssue[]> {
  if (planned.files > 0 && !(await client.hasPlaceForFiles(deps.signals.signal))) {
    throw noPlaceForFiles(server.origin, localFiles)
  }
  if (files === null) return []
  const check = await checkFiles(deps, files, server)
  printWarnings(deps.io, check)
  const problem = filesProblem(check)
  if (problem !== null) throw problem
  return check.warnings
}

/** Writes the outcome to the job summary in GitHub Actions. */
export async function writeJobSummary({ env, io }: Deps, summary: JobSummary): Promise<void> {
  if (!isInActions(env)) return
  const { addJobSummary } = await import('../render/github-actions.ts')
  const problem = await addJobSummary(summary, env)
  if (problem !== null) io.debug(safe(`can't write the job summary: ${messageOf(problem)}`))
}
