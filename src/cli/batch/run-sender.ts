import type { runBatch } from '../../batch/run.ts'
import type {
  BatchDeps,
  BatchEvent,
  BatchOptions,
  BatchSummary,
  PlannedEvent,
  PlannedMints,
  RunStatus,
} from '../../batch/types.ts'
import type { RunLimit } from '../../client/run-limit.ts'
import type { Settings } from '../../config/settings.ts'
import { count } from '../../core/count.ts'
import type { ManifestItem } from '../../manifest/read.ts'
import type { ManifestIssue } from '../../manifest/row.ts'
import type { RowWarnings } from '../../manifest/row-warnings.ts'
import { queryStateIfReadable } from '../../state/glance.ts'
import { listKnownCollections } from '../../state/known-collections.ts'
import { findCollectionByAddress } from '../connect/known-collections.ts'
import type { VerifyFlags } from '../connect/open-verifier.ts'
import {
  describeRunShortage,
  noteCost,
  sufficientLimit,
  toReservation,
  type UnsentUse,
  warnOfSignedTransactions,
} from '../cost/at-most.ts'
import { confirmSpending } from '../cost/confirm-spending.ts'
import type { LimitFlags, readCostLimit } from '../cost/limit.ts'
import { startRunMeter, UNKNOWN_RUN_COSTS } from '../cost/paid.ts'
import { estimateMaxChangeUse, sumUses } from '../cost/run-limit.ts'
import type { Connection, Deps } from '../deps.ts'
import type { DataRecord } from '../render/view.ts'
import { checkPlannedFiles, type FileUrls, printWarnings } from './check-files.ts'
import type { LocalFiles } from './local-files.ts'
import type { BatchMintFlags } from './options/flags.ts'
import type { BatchProgress } from './progress/progress.ts'
import { describePlan, printPlan } from './report/print-plan.ts'
import { confirmDuplicates, confirmOtherEdition, duplicateWarnings, otherEditionText } from './report/row-warnings.ts'
import {
  checkRunPlan,
  describeRunQuestion,
  estimateMaxMintUse,
  permitRun,
  unsentRows,
  withSufficientLimit,
} from './run-costs.ts'
import { createRecordReader } from './verify/verify-rows.ts'
import { verifyRun } from './verify/verify-run.ts'
import type { VerifyTally } from './verify/verify-tally.ts'

export interface RunInput {
  settings: Settings
  options: BatchOptions
  /** Reads the manifest; null to resume with the recorded rows. */
  read: (() => AsyncIterable<ManifestItem>) | null
  /** File URLs to check after the manifest is read and before anything is sent. */
  files?: FileUrls | null
  /** The local files of the manifest; null if the manifest isn't read. */
  localFiles?: LocalFiles | null
  /** Warnings about parts of the manifest that are valid but probably unintended. */
  warnings?: RowWarnings
  flags: Pick<BatchMintFlags, 'yes' | 'rate' | 'stateDir' | 'allowDuplicates'> & VerifyFlags & LimitFlags
  run: typeof runBatch
  /** Called before the run is planned. Throws to refuse the run. */
  check?: ((connection: Connection) => Promise<void>) | undefined
  /**
   * Called after the run's limit is set, and before any request that costs money. Each request of the run carries the
   * limit.
   */
  beforeSending?: ((planned: PlannedEvent, connection: Connection, limit: RunLimit) => Promise<void>) | undefined
  /** Number of requests in addition to the mints. */
  others?: number
  /** The NFT changes to make after the mints, and the maximum gas and data that they use. */
  changes?: Required<Pick<UnsentUse, 'changes' | 'maxUse'>> | undefined
  /** The cost limit of this command, in wei. If undefined, the limit is read from the flags. */
  commandLimit?: bigint | null
  /** The command that resumes the run. Default: `gdn batch resume`. */
  resumedBy?: string | undefined
  /** The command that mints the manifest as it is now, if the run sends stored rows that differ from the manifest. */
  mintsEdits?: string | undefined
  /** Whether `gdn apply` sends the run. If so, the command also retries rows and updates edited ones. */
  isApplied?: boolean
  /** The status of a resumed run. */
  known?: RunStatus
  onEvent?: (event: BatchEvent) => void
}

const ZERO_CHANGES: Required<Pick<UnsentUse, 'changes' | 'maxUse'>> = { changes: 0, maxUse: { gasLimit: 0n, bytes: 0 } }

/** The outcome of a run, and of its verification if one was requested. */
export interface SentRun {
  summary: BatchSummary
  verified: VerifyTally | null
  /**
   * Warnings about parts of the manifest that are valid but probably unintended. Empty if there are no rows to send.
   */
  warnings: readonly ManifestIssue[]
  /** Notes about the run's plan, for the user. */
  notes: readonly string[]
  /** The fees that this command paid for the run. The fields are null if the server doesn't report fees. */
  paid: DataRecord
}

export interface RunLimits {
  /** The cost limit from this command's flags; null if there is none. */
  flagLimit: Awaited<ReturnType<typeof readCostLimit>> | null
  /** The cost limit of this command, in wei. */
  maxCost: bigint | null
  maxFee: bigint | null
}

/** Returns whether a run may have sent rows. If so, the run's limit includes them. */
export const hasSentRows = ({ rows: { accepted, unknown, deployed } }: PlannedEvent): boolean =>
  accepted + unknown + deployed > 0

const otherRowsText = (pending: number): string => `Mint the other ${pending === 1 ? 'row' : `${pending} rows`}`

/** Implements the callbacks of a run: cost limits, prompts, checks of its rows, and verification. */
export class RunSender {
  readonly #deps: Deps
  readonly #sending: RunInput
  readonly #connection: Connection
  readonly #limits: RunLimits
  readonly #progress: BatchProgress
  #run = ''
  #pending = 0
  /** The distinct sizes of the requests, in rows. */
  #sizes: ReadonlySet<number> = new Set()
  #unsent: { pending: number; rows: ReturnType<typeof unsentRows> } | null = null
  #warnings: ManifestIssue[] = []
  #notes: readonly string[] = []
  #readPaidSince = async (): Promise<DataRecord> => UNKNOWN_RUN_COSTS

  constructor(deps: Deps, sending: RunInput, connection: Connection, limits: RunLimits, progress: BatchProgress) {
    this.#deps = deps
    this.#sending = sending
    this.#connection = connection
    this.#limits = limits
    this.#progress = progress
  }

  callbacks(): BatchDeps {
    const { client, pacer } = this.#connection
    return {
      client,
      pacer,
      now: this.#deps.steadyNow,
      sleep: this.#deps.sleep,
      readManifest: this.#sending.read,
      shortage: () => this.#shortage(),
      sufficientLimit: () => this.#sufficientLimit(),
      onEvent: (event) => this.#handleEvent(event),
      permit: (planned, storedLimit, mints) => this.#permit(planned, storedLimit, mints),
      confirm: (planned, runLimit, mints) => this.#confirm(planned, runLimit, mints),
      beforeSending: (planned, runLimit) => this.#beforeSending(planned, runLimit),
    }
  }

  /** Returns the outcome of a run, and verifies its rows if requested. */
  async result(summary: BatchSummary): Promise<SentRun> {
    const { options, flags } = this.#sending
    const verifies = flags.verify && summary.stopped === null
    const { server } = this.#connection
    const records = createRecordReader(this.#deps, async () => this.#connection)
    const paid = await this.#readPaidSince()
    return {
      summary: await withSufficientLimit(summary, () => this.#sufficientLimit()),
      paid,
      warnings: this.#warnings,
      notes: this.#notes,
      verified: verifies ? await verifyRun(this.#deps, summary, options, { flags, server, records }) : null,
    }
  }

  #handleEvent(event: BatchEvent): void {
    if (event.type === 'planned') this.#run = event.run.id
    if (event.type === 'rows') this.#pending = event.counts.pending
    if (event.type === 'resized') {
      const { chunkSize } = event
      const parts = [...this.#sizes].flatMap((size) => [Math.min(size, chunkSize), size % chunkSize])
      this.#sizes = new Set(parts.filter((size) => size > 0))
      this.#unsent = null
    }
    this.#progress.handleEvent(event)
    this.#sending.onEvent?.(event)
  }

  async #permit(planned: PlannedEvent, storedLimit: bigint | null, mints: PlannedMints): Promise<bigint | null> {
    const { options, others = 0, isApplied } = this.#sending
    await this.#refuseHidden(planned, mints)
    const { flagLimit, maxCost: commandLimit, maxFee } = this.#limits
    // `gdn apply` skips this check, because it compares its saved plan with the NFTs.
    if (!isApplied) await checkRunPlan(this.#deps, options, planned, mints)
    await flagLimit?.refuseIfTooLow(hasSentRows(planned), async () =>
      toReservation(await estimateMaxMintUse(mints, others)),
    )
    const { blockchain } = options
    return await permitRun(this.#deps, planned, {
      connection: this.#connection,
      blockchain,
      commandLimit,
      storedLimit,
      maxFee,
      others,
    })
  }

  async #refuseHidden(planned: PlannedEvent, mints: PlannedMints): Promise<void> {
    const { options, isApplied, read } = this.#sending
    const { refuseHidden } = await import('./reveal/minted-unrevealed.ts')
    await refuseHidden(options, planned, mints, isApplied !== true && read !== null)
  }

  async #confirm(planned: PlannedEvent, runLimit: RunLimit, mints: PlannedMints): Promise<void> {
    this.#sizes = mints.sizes
    this.#progress.stop()
    printPlan(this.#deps, planned, this.#findCollectionName(), this.#sending)
    this.#notes = describePlan(planned, this.#sending, this.#deps.cwd)
    if (planned.rows.pending > 0) this.#warnings = await this.#checkRows(planned)
    await this.#confirmCost(planned, runLimit, mints)
    // Another command may have hidden the rows since the last check, for example while a prompt was open.
    await this.#refuseHidden(planned, mints)
    const { recordPublishPermission } = await import('./reveal/minted-unrevealed.ts')
    await recordPublishPermission(this.#sending.options, planned, mints)
    this.#readPaidSince = await startRunMeter(this.#deps, this.#connection, planned.run.id)
  }

  /**
   * Returns the name of the collection without sending a request. The name is known only if this machine created or
   * used the collection.
   */
  #findCollectionName(): string {
    const { contractAddress, blockchain, stateDir } = this.#sending.options
    const name = findCollectionByAddress(queryStateIfReadable(stateDir, listKnownCollections), contractAddress)?.name
    return `${name === undefined ? contractAddress : `${name} (${contractAddress})`} on ${blockchain}`
  }

  /** Checks the files, checks for duplicates, and returns the printed warnings. */
  async #checkRows(planned: PlannedEvent): Promise<ManifestIssue[]> {
    const { warnings, flags, files = null, localFiles = null, read, isApplied } = this.#sending
    const { client, server } = this.#connection
    const inRows = warnings?.all ?? []
    // Only commands that read the manifest need this check. `gdn apply` already shows the edits in its plan.
    if (read !== null && !isApplied) {
      const { rows, secondEdition } = planned
      const effect = secondEdition ? `Mint ${count(rows.pending, 'row')}` : otherRowsText(rows.pending)
      await confirmOtherEdition(this.#deps, flags.yes, { text: otherEditionText(planned), effect })
    }
    printWarnings(this.#deps.io, { warnings: inRows })
    await confirmDuplicates(this.#deps, flags.allowDuplicates, planned.duplicates, warnings?.file)
    const inFiles = await checkPlannedFiles(this.#deps, planned, { client, server, files, localFiles })
    return [...inRows, ...duplicateWarnings(warnings?.file ?? '', planned.duplicates), ...inFiles]
  }

  /**
   * Prompts for confirmation of the run's maximum cost. With `--yes`, prints the cost as a note instead.
   *
   * @throws GdnError `not_confirmed`
   */
  async #confirmCost(planned: PlannedEvent, runLimit: RunLimit, mints: PlannedMints): Promise<void> {
    const { options, flags, others = 0 } = this.#sending
    const { maxCost: limit, maxFee } = this.#limits
    const { blockchain } = options
    const connection = this.#connection
    const maxUse = () => estimateMaxMintUse(mints, others)
    const priced = { limit, storedLimit: runLimit.maxCost?.wei ?? null, maxFee, run: planned.run.id, maxUse }
    if (flags.yes) {
      if (planned.rows.pending > 0) await noteCost(this.#deps, connection, blockchain, priced)
      return
    }
    const question = await describeRunQuestion(this.#deps, planned, {
      ...options,
      connection,
      commandLimit: limit,
      maxFee,
    })
    if (question === null) return
    const { action, accepted } = question
    const asked = { yes: false, blockchain, action, priced: { ...priced, accepted } }
    await confirmSpending(this.#deps, connection, asked)
  }

  async #beforeSending(planned: PlannedEvent, runLimit: RunLimit): Promise<void> {
    const { maxCost: limit } = this.#limits
    if (limit !== null && planned.rows.accepted + planned.rows.unknown > 0)
      await warnOfSignedTransactions(this.#deps, this.#connection, { limit, run: planned.run.id })
    await this.#sending.beforeSending?.(planned, this.#connection, runLimit)
    await this.#progress.start()
  }

  /**
   * Returns the unsent rows. Reads them again only if some were sent since the last call, because a large run has many.
   */
  #readUnsent(): ReturnType<typeof unsentRows> {
    if (this.#unsent?.pending === this.#pending) return this.#unsent.rows
    const rows = unsentRows(this.#run, { ...this.#sending.options, sizes: this.#sizes })
    this.#unsent = { pending: this.#pending, rows }
    return rows
  }

  /** Returns a sufficient limit for the unsent rows at the current fees; null if unknown. */
  async #sufficientLimit(): Promise<string | null> {
    const { options, others = 0 } = this.#sending
    const changes = await estimateMaxChangeUse('provenance', others)
    const readReserved = async () => ({ ...(await this.#readUnsent()).reserved, changes })
    return await sufficientLimit(this.#deps, this.#connection, {
      blockchain: options.blockchain,
      run: this.#run,
      reserved: readReserved,
    })
  }

  /** Describes the funds that the signer lacks for the unsent rows and changes. */
  async #shortage(): ReturnType<typeof describeRunShortage> {
    const { options, changes = ZERO_CHANGES } = this.#sending
    const unsent = async () => {
      const { rows, maxUse, smallestMint, reserved } = await this.#readUnsent()
      return {
        rows,
        changes: changes.changes,
        maxUse: sumUses([maxUse, changes.maxUse]),
        smallestMint: changes.changes === 0 ? smallestMint : 0n,
        reserved: { ...reserved, changes: changes.maxUse },
      }
    }
    return await describeRunShortage(this.#deps, this.#connection, {
      blockchain: options.blockchain,
      run: this.#run,
      unsent,
    })
  }
}
