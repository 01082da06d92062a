import { mkdir, open, rename, rm } from 'node:fs/promises'
import { basename } from 'node:path'
import { addressProblem } from '../api/address.ts'
import { syncFolder, writeDurably } from '../core/durable-file.ts'
import { GdnError } from '../core/errors.ts'
import { acquireLock, type Lock } from '../core/process-lock.ts'
import type { ManifestItem } from '../manifest/read.ts'
import type { JournalEnd } from './journal/read.ts'
import { encodeRecord, JOURNAL_VERSION, type RunRecord } from './journal/records.ts'
import { Ledger } from './ledger.ts'
import { loadLedger, type OpenLedger, openWriter } from './open-ledger.ts'
import { DEFAULT_CHUNK_SIZE, type Plan } from './plan.ts'
import { buildRequest } from './request.ts'
import { resultRows } from './results.ts'
import { RunContext } from './run-context.ts'
import {
  familyId,
  fileExists,
  journalPath,
  latestGeneration,
  lockFolder,
  runRef,
  runsFolder,
  spoolPath,
  withState,
} from './run-files.ts'
import { type Outbox, Sender } from './send.ts'
import { readSpool, SpoolReader, SpoolWriter } from './spool.ts'
import { exitCodeOf, nameRows } from './summary.ts'
import { type Survey, survey } from './survey.ts'
import { Sweeper } from './sweep.ts'
import type { BatchDeps, BatchOptions, BatchSummary, PlannedEvent } from './types.ts'
import { uploadFiles } from './uploads.ts'

/** A run as it is found at start: its journal folded, or nothing yet. */
interface Found {
  run: RunRecord
  ledger: Ledger
  /** Up to where the journal is whole; null where there is none yet. */
  journal: Pick<JournalEnd, 'end' | 'lacksLineEnd'> | null
}

/**
 * Mints the rows of a manifest, or goes on with it: reads and plans all rows, writes each request into the journal
 * before it is sent, and waits until everything accepted is deployed or failed. Killed at any instant and called again,
 * it sends nothing again unless its first sending is known to have had no effect, or the server honours its key.
 *
 * Faults of single rows are told in the summary; what keeps the run from being done at all is thrown.
 *
 * @throws GdnError `invalid_manifest`, `run_finished`, `run_busy`, `data_dir`, `usage`
 * @example
 * const summary = await runBatch({ stateDir, origin, blockchain: 'polygon', contractAddress, manifestPath }, {
 *   client, pacer, readManifest: () => readManifest(manifestPath, 'polygon'),
 * })
 */
export async function runBatch(options: BatchOptions, deps: BatchDeps): Promise<BatchSummary> {
  checkOptions(options)
  const lock = await takeLock(options)
  try {
    return await runLocked(options, deps)
  } finally {
    await lock.release()
  }
}

async function runLocked(options: BatchOptions, deps: BatchDeps): Promise<BatchSummary> {
  const { stateDir } = options
  const found = await findRun(options)
  const { run, ledger, journal } = found
  const spoolAt = spoolPath(stateDir, run.id)
  const draft = `${spoolAt}.new`
  let surveyed: Survey
  let planned: PlannedEvent
  try {
    surveyed = await readInto(draft, deps, found, options)
    if (journal !== null) refuseFinished(ledger, run)
    planned = plannedEvent(run, journal !== null, ledger, surveyed)
    // The place for what must be known before a first request: the user's word, and whether a journal was lost.
    await deps.confirm?.(planned)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
  const { writer, records, spool } = await withState(stateDir, () => openFiles(stateDir, run, journal, draft, deps))
  const context = new RunContext(options, deps, { ledger, writer, records })
  try {
    const at = new Date().toISOString()
    await context.record({ t: 'plan', rows: ledger.counts().total, dropped: surveyed.dropped, at }, true)
    context.emit(planned)
    const sent = await sendAll(context, surveyed.plan, spool, run.in_order)
    const wait = options.noWait !== true && context.stopped === null
    if (wait) await new Sweeper(context).waitForAll()
    const counts = ledger.counts()
    if (counts.pending + counts.unknown + counts.accepted === 0) {
      await context.record({ t: 'end', at: new Date().toISOString() }, true)
    }
    return {
      run: { id: run.id, name: run.name },
      counts,
      ...sent,
      changes: surveyed.changes,
      stopped: context.stopped,
      ...(await nameRows(resultRows(run, ledger, records, readSpool(spoolAt)), counts)),
      reconciled: null,
      exitCode: exitCodeOf(counts, context.stopped, wait),
    }
  } finally {
    context.close()
    await Promise.all([writer.close(), records.close(), spool.close()])
  }
}

/** Puts the rows in their place, makes the journal if there is none yet, and opens both. */
async function openFiles(stateDir: string, run: RunRecord, journal: Found['journal'], draft: string, deps: BatchDeps) {
  const journalAt = journalPath(stateDir, run.id)
  const spoolAt = spoolPath(stateDir, run.id)
  await rename(draft, spoolAt)
  await syncFolder(runsFolder(stateDir))
  const header = encodeRecord(run)
  if (journal === null) await writeDurably(journalAt, (file) => file.appendFile(header))
  const whole = journal ?? { end: header.length, lacksLineEnd: false }
  return { ...(await openWriter(journalAt, whole, deps.wrapJournal)), spool: await SpoolReader.open(spoolAt) }
}

/** The newest generation of the run, or with `--again` a new one. */
async function findRun(options: BatchOptions): Promise<Found> {
  const generation = options.generation ?? (await latestGeneration(options.stateDir, options))
  if (generation > 0) {
    const path = journalPath(options.stateDir, runRef(options, generation).id)
    if (options.again !== true) return goOn(await loadLedger(path), options)
    const problem = await unfinished(path)
    if (problem !== null) throw problem
  }
  const ref = runRef(options, generation + 1)
  const run: RunRecord = {
    t: 'run',
    v: JOURNAL_VERSION,
    ...ref,
    origin: options.origin,
    blockchain: options.blockchain,
    contract: options.contractAddress,
    manifest: options.manifestPath,
    run_name: options.runName ?? null,
    chunk_size: options.chunkSize ?? DEFAULT_CHUNK_SIZE,
    in_order: options.inOrder ?? false,
    generation: generation + 1,
    at: new Date().toISOString(),
  }
  return { run, ledger: new Ledger(), journal: null }
}

function goOn({ run, ledger, ...journal }: OpenLedger, options: BatchOptions): Found {
  ledger.settleOpen()
  const chunk_size = options.chunkSize ?? run.chunk_size
  return { run: { ...run, chunk_size, in_order: options.inOrder ?? run.in_order }, ledger, journal }
}

/** Why no second drop can be ordered yet: the first has rows that were never sent. A damaged journal is no reason. */
async function unfinished(path: string): Promise<GdnError | null> {
  try {
    const { run, ledger } = await loadLedger(path)
    const { pending } = ledger.counts()
    if (pending === 0) return null
    return new GdnError('run_busy', `the run ${run.name} isn't finished: ${pending} rows were not sent yet`, {
      hint: 'run the command without --again to go on with it; to leave it at that, name the new one with --run NAME',
    })
  } catch (error) {
    if (error instanceof GdnError && error.code === 'data_dir') return null
    throw error
  }
}

/** Reads the manifest into a new spool, and plans. */
async function readInto(
  draft: string,
  { readManifest }: BatchDeps,
  { run, ledger }: Found,
  { stateDir, retryFailed = false }: BatchOptions,
): Promise<Survey> {
  const spoolAt = spoolPath(stateDir, run.id)
  if (readManifest === null && !(await fileExists(spoolAt))) {
    throw new GdnError('not_found_locally', `the rows of the run ${run.name} are not kept on this machine`, {
      hint: 'give the manifest',
    })
  }
  const items = readManifest === null ? keptRows(spoolAt) : readManifest()
  const settings = { chunkSize: run.chunk_size, inOrder: run.in_order, retryFailed }
  const earlier = () => readSpool(spoolAt)
  const file = await withState(stateDir, () => open(draft, 'w', 0o600))
  try {
    const spool = new SpoolWriter(file)
    const result = await survey(items, earlier, ledger, settings, (row) => withState(stateDir, () => spool.add(row)))
    await withState(stateDir, async () => {
      await spool.flush()
      await file.sync()
    })
    return result
  } finally {
    await file.close()
  }
}

async function* keptRows(spoolAt: string): AsyncGenerator<ManifestItem> {
  for await (const { row } of readSpool(spoolAt)) yield { row }
}

function refuseFinished(ledger: Ledger, run: RunRecord): void {
  const { pending, unknown, accepted, failed, deployed } = ledger.counts()
  // A run that was killed after its last row, before anyone heard of it, tells its end once more.
  if (!ledger.ended || pending + unknown + accepted > 0) return
  const outcome = failed === 0 ? `all ${deployed} rows are deployed` : `${deployed} rows are deployed, ${failed} failed`
  throw new GdnError('run_finished', `the run ${run.name} is finished: ${outcome}`, {
    hint: 'to mint all rows of this manifest a second time, add --again',
    details: { run: run.name, deployed, failed },
  })
}

function plannedEvent(run: RunRecord, resumed: boolean, ledger: Ledger, { plan, changes }: Survey): PlannedEvent {
  return {
    type: 'planned',
    run: { id: run.id, name: run.name },
    resumed,
    rows: ledger.counts(),
    requests: plan.requests,
    receivers: plan.receivers,
    reordered: plan.reordered,
    files: plan.withFiles.length,
    changes,
  }
}

async function sendAll(context: RunContext, plan: Plan, spool: SpoolReader, inOrder: boolean) {
  const urlOf = await uploadFiles(context, plan, spool)
  if (urlOf === null) return { requests: 0, attempts: 0 }
  const outbox: Outbox = {
    requests: plan.requests,
    async build(request) {
      const rows = await Promise.all(plan.rowsOf(request).map(({ span }) => spool.read(span)))
      const manifestRows = rows.map(({ row }) => row)
      const { endpoint, body } = buildRequest(context.options, manifestRows, urlOf)
      return {
        endpoint,
        body: JSON.stringify(body),
        rows: rows.map(({ key, content, row }) => [key, row.line, content]),
      }
    },
  }
  const sender = new Sender(context, outbox, inOrder)
  await sender.run()
  return { requests: sender.requests, attempts: sender.attempts }
}

function checkOptions({ contractAddress, blockchain, chunkSize = 1, inFlight = 1 }: BatchOptions): void {
  const problem = addressProblem(contractAddress, blockchain)
  if (problem !== null) {
    throw new GdnError('usage', `the contract address ${contractAddress} ${problem}`, { place: { flag: '--contract' } })
  }
  if (!Number.isSafeInteger(chunkSize) || chunkSize < 1) {
    throw new GdnError('usage', 'the chunk size must be a whole number from 1', { place: { flag: '--chunk-size' } })
  }
  if (!Number.isSafeInteger(inFlight) || inFlight < 1) throw new Error('inFlight must be a whole number from 1')
}

const describe = ({ runName, manifestPath }: BatchOptions): string => runName ?? basename(manifestPath ?? '')

function takeLock(options: BatchOptions): Promise<Lock> {
  const { stateDir } = options
  const folder = lockFolder(stateDir, familyId(options))
  return withState(stateDir, async () => {
    await mkdir(runsFolder(stateDir), { recursive: true, mode: 0o700 })
    return acquireLock(folder, `batch of ${describe(options)}`)
  })
}
