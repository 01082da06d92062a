import { mkdir, rm } from 'node:fs/promises'
import { basename } from 'node:path'
import { addressProblem } from '../api/address.ts'
import { syncFolder, writeDurably } from '../core/durable-file.ts'
import { GdnError } from '../core/errors.ts'
import { acquireLock, type Lock } from '../core/process-lock.ts'
import { acquireClaim, readOtherRuns } from './claim.ts'
import { encodeRecord, type RunRecord } from './journal/records.ts'
import { checkMarkerKey } from './marker.ts'
import { openWriter, renewJournals } from './open-ledger.ts'
import type { Plan } from './plan.ts'
import { type Prepared, prepare } from './prepare.ts'
import type { IdSet } from './reconcile/id-set.ts'
import { readBaseline, readOthers, writeBaseline } from './reconcile/known-ids.ts'
import { reconcile } from './reconcile/reconcile.ts'
import { settleByWord } from './reconcile/settle.ts'
import { requestsOf } from './request.ts'
import { resultRows } from './results.ts'
import { DEFAULT_TIMEOUT_MS, RunContext } from './run-context.ts'
import { baselinePath, familyId, journalPath, lockFolder, runsFolder, spoolPath, withState } from './run-files.ts'
import { type Outbox, Sender } from './send.ts'
import { readSpool, SpoolReader } from './spool.ts'
import { exitCodeOf, nameRows } from './summary.ts'
import { Sweeper } from './sweep.ts'
import type { BatchDeps, BatchOptions, BatchSummary } from './types.ts'
import { uploadFiles } from './uploads.ts'

/**
 * Mints the rows of a manifest, or goes on with it: reads and plans all rows, writes each request into the journal
 * before it is sent, and waits until everything accepted is deployed or failed. Killed at any instant and called again,
 * it sends nothing again unless its first sending is known to have had no effect, or the server honours its key.
 *
 * Faults of single rows are told in the summary; what keeps the run from being done at all is thrown.
 *
 * @throws GdnError `invalid_manifest`, `run_finished`, `run_busy`, `seems_minted`, `already_accepted`, `data_dir`,
 *   `usage`, `wrong_backend`
 * @example
 * const summary = await runBatch({ stateDir, origin, blockchain: 'polygon', contractAddress, manifestPath }, {
 *   client, pacer, readManifest: () => readManifest(manifestPath, 'polygon'),
 * })
 */
export async function runBatch(options: BatchOptions, deps: BatchDeps): Promise<BatchSummary> {
  checkOptions(options)
  const lock = await takeLock(options)
  try {
    return await runLocked(options, deps, lock)
  } finally {
    await lock.release()
  }
}

async function runLocked(options: BatchOptions, deps: BatchDeps, lock: Lock): Promise<BatchSummary> {
  const { stateDir } = options
  if (lock.mayWake) await withState(stateDir, () => renewJournals(stateDir, options))
  const prepared = await prepare(options, deps, { lock, drafts: runsFolder(stateDir) })
  const { found, gathered, before, edits, planned } = prepared
  const { run, ledger } = found
  const spoolAt = spoolPath(stateDir, run.id)
  const sends = options.reconcileOnly !== true
  let claim: Lock | null = null
  // A full disk keeps the lock from being released. Whatever filled it is the error to report.
  const releaseClaim = async () => await claim?.release().catch(() => undefined)
  let opened: Awaited<ReturnType<typeof openFiles>>
  try {
    if (sends) await deps.confirm?.(planned)
    if (sends && gathered.plan.requests > 0) {
      claim = await acquireClaim(options, deps)
      // Other runs may have claimed rows since, above all while a person was at the prompt.
      before.given = (await withState(stateDir, () => readOtherRuns(options, deps, found, gathered.path))).ids
    }
    opened = await withState(stateDir, () => openFiles(prepared, { stateDir, lock, deps }))
  } catch (error) {
    await releaseClaim()
    await gathered.discard()
    throw error
  }
  const { dropped, plan, changes } = gathered
  const { writer, records, spool } = opened
  // A million ids needn't stay in memory while rows are sent.
  before.listed = null
  const context = new RunContext(options, deps, { run: run.id, ledger, writer, records })
  const sweeper = new Sweeper(context, run.marker)
  try {
    const at = new Date().toISOString()
    const { replaced } = edits
    const retried = sends ? ledger.retriedRows() : []
    const more = { ...(replaced.length === 0 ? {} : { replaced }), ...(retried.length === 0 ? {} : { retried }) }
    await context.record({ t: 'plan', rows: ledger.counts().total, dropped, ...more, at }, true)
    // From here on other processes see the claim in the journal. One that slept through a takeover sends nothing.
    await claim?.check()
    await releaseClaim()
    claim = null
    if (sends) context.emit(planned)
    if (options.settle !== undefined) await settleByWord(context, options.settle, before.given)
    const sent = sends
      ? await sendAll(context, plan, spool, run, { sweeper, given: before.given })
      : { requests: 0, attempts: 0 }
    const waits = options.noWait !== true && context.stopped === null
    const reconciled = waits || !sends ? await finish(context, sweeper, run, deps) : null
    const counts = ledger.counts()
    if (counts.pending + counts.unknown + counts.accepted === 0) {
      await context.record({ t: 'end', at: new Date().toISOString() }, true)
    }
    return {
      run: { id: run.id, name: run.name },
      counts,
      ...sent,
      changes,
      stopped: context.stopped,
      ...(await nameRows(resultRows(run, ledger, records, readSpool(spoolAt)), ledger)),
      reconciled,
      exitCode: exitCodeOf(ledger, context.stopped, waits),
    }
  } finally {
    await releaseClaim()
    context.close()
    await sweeper.settled()
    await Promise.all([writer.close(), records.close(), spool.close()])
  }
}

/** Everything was sent: finds out what isn't known, and waits until what was accepted is deployed or failed. */
async function finish(context: RunContext, sweeper: Sweeper, run: RunRecord, deps: BatchDeps) {
  const { options, now } = context
  const deadline = now() + (options.timeoutMs ?? DEFAULT_TIMEOUT_MS)
  // Whether the server shows rows as they were sent must be known before one is taken for absent.
  if (context.ledger.counts().unknown > 0) await sweeper.sweepOnce()
  const reconciled = await reconcile(context, {
    baseline: await readBaseline(baselinePath(options.stateDir, run.id)),
    markerKey: run.marker,
    others: () => readOthers(options, run.id, deps),
    meanwhile: () => sweeper.lookAside(),
    deadline,
  })
  await sweeper.settled()
  if (options.noWait !== true) await sweeper.waitForAll(deadline)
  return reconciled === null ? null : { adopted: reconciled.adopted, basis: reconciled.basis }
}

/** Puts the rows in their place, makes the journal if there is none yet, and opens both. */
async function openFiles(
  { found: { run, journal }, gathered, before: { listed, adopted }, edits: { renamed } }: Prepared,
  { stateDir, lock, deps }: { stateDir: string; lock: Lock; deps: BatchDeps },
) {
  // The user may have been asked something, and have closed the lid over it.
  await lock.check()
  const journalAt = journalPath(stateDir, run.id)
  const spoolAt = spoolPath(stateDir, run.id)
  await gathered.place()
  await syncFolder(runsFolder(stateDir))
  let whole = journal
  if (whole === null) {
    const knownAt = baselinePath(stateDir, run.id)
    if (listed === null) await rm(knownAt, { force: true })
    else await writeBaseline(knownAt, listed)
    // What was adopted is in the journal from the beginning, or a crash would have it sent.
    const lines = [run, ...adopted].map((record) => encodeRecord(record))
    await writeDurably(journalAt, async (file) => {
      for (const line of lines) await file.appendFile(line)
    })
    whole = { end: lines.reduce((sum, { length }) => sum + length, 0), lacksLineEnd: false }
  }
  const opened = await openWriter(journalAt, whole, lock, deps.wrapJournal)
  // The ledger has them already: rows are planned by it.
  const unwritten = journal === null ? renamed : [...renamed, ...adopted]
  for (const record of unwritten) await opened.writer.append(record, { sync: false })
  return { ...opened, spool: await SpoolReader.open(spoolAt) }
}

async function sendAll(
  context: RunContext,
  plan: Plan,
  spool: SpoolReader,
  run: RunRecord,
  { sweeper, given }: { sweeper: Sweeper; given: IdSet },
) {
  const urlOf = await uploadFiles(context, plan, spool)
  if (urlOf === null) return { requests: 0, attempts: 0 }
  const requestOf = requestsOf({ run, ledger: context.ledger, plan, spool, urlOf })
  const outbox: Outbox = {
    requests: plan.requests,
    size: (request) => plan.rowsOf(request).length,
    async build(piece) {
      const { endpoint, body, rows } = await requestOf(piece)
      return {
        endpoint,
        body: JSON.stringify(body),
        rows: rows.map(({ key, content, row }) => [key, row.line, content]),
      }
    },
  }
  const sender = new Sender(context, outbox, run.in_order, {
    aside: () => void sweeper.lookAside(),
    isGiven: (id) => given.has(id),
  })
  await sender.run()
  return { requests: sender.requests, attempts: sender.attempts }
}

export function checkOptions({
  contractAddress,
  blockchain,
  chunkSize = 1,
  inFlight = 1,
  markerKey,
}: BatchOptions): void {
  checkMarkerKey(markerKey)
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
