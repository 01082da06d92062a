import { isStuckReason } from '../api/stuck-reason.ts'
import { setRunLimit } from '../client/run-costs.ts'
import { runLimit } from '../client/run-limit.ts'
import { NOTHING_SENT_HINT, withNothingSent } from '../core/nothing-sent.ts'
import { DEFAULT_WAIT_MS } from '../operations/defaults.ts'
import type { Sql } from '../sqlite/shared-database.ts'
import { forgetDrop, updateDrop } from '../state/drops.ts'
import { openState } from '../state/open-state.ts'
import { countBurned, countMintedTwice } from '../state/row-outcomes.ts'
import { LATE_REASON } from '../state/row-results.ts'
import { type RowLocation, readRowPages, removeOtherSets } from '../state/rows.ts'
import { endRun } from '../state/runs.ts'
import { checkOptions } from './check-options.ts'
import { enterRows } from './enter-rows.ts'
import { relabelOnServer } from './identity/other-labels.ts'
import { storeAliases } from './identity/store-pairs.ts'
import { prepare } from './prepare.ts'
import { markRows } from './reconcile/mark-rows.ts'
import { reconcile } from './reconcile/reconcile.ts'
import { readOtherRecords } from './reconcile/unknown-rows.ts'
import type { RequestPlan } from './request-plan.ts'
import { countOpenRows } from './rows/row-counts.ts'
import { leaseStoredRun } from './runs/open-stored-run.ts'
import { readResultsOutsideManifest, resultsPage } from './runs/results.ts'
import { RunContext } from './runs/run-context.ts'
import { familyId } from './runs/run-identity.ts'
import type { StoredRun } from './runs/stored-run.ts'
import { collectListedRows, selectExitCode } from './runs/summary.ts'
import { createRequestBuilder, plannedMints } from './send/request.ts'
import { Sender } from './send/send.ts'
import { StatusPoller } from './send/status-poller.ts'
import { uploadFiles } from './send/uploads.ts'
import type { BatchDeps, BatchOptions, BatchSummary, ResultRow } from './types.ts'

/**
 * Mints the rows of a manifest, or resumes its run. Reads and plans all rows, commits each request to the state before
 * sending it, and waits until every accepted row is deployed or failed. The process may be killed at any time. The next
 * call then repeats a request only if the request certainly had no effect, or if the server ensures that it takes
 * effect only once.
 *
 * Problems of individual rows are in the summary. Throws only if the whole run can't continue.
 *
 * @throws GdnError `invalid_manifest`, `run_finished`, `run_busy`, `edited_rows`, `seems_minted`, `already_accepted`,
 *   `data_dir`, `usage`, `wrong_backend`
 * @example
 * const summary = await runBatch({ stateDir, origin, blockchain: 'polygon', contractAddress, manifestPath }, {
 *   client, pacer, readManifest: () => readManifest(manifestPath, 'polygon'),
 * })
 */
export async function runBatch(options: BatchOptions, deps: BatchDeps): Promise<BatchSummary> {
  checkOptions(options)
  familyId(options)
  return await withLeasedRun(options, deps, (run) => runLeased(run, options, deps))
}

/** Acquires the run of a manifest, calls `use` with it, and releases the run. */
export async function withLeasedRun<Result>(
  options: BatchOptions,
  { openDatabase, timing }: Pick<BatchDeps, 'openDatabase' | 'timing'>,
  use: (run: StoredRun) => Promise<Result>,
): Promise<Result> {
  const state = await openState(options.stateDir, { open: openDatabase })
  try {
    const run = await leaseStoredRun(state, options, timing)
    try {
      return await use(run)
    } finally {
      // Remove the run if it has no rows. Otherwise, remove the row sets that the run doesn't use.
      const { id, setId } = run.drop
      const tidy = (sql: Sql) => (setId === null ? forgetDrop(sql, id) : removeOtherSets(sql, id, setId))
      await run.write(tidy).catch(() => undefined)
      await run.release().catch(() => undefined)
    }
  } finally {
    state.close()
  }
}

async function runLeased(run: StoredRun, options: BatchOptions, deps: BatchDeps): Promise<BatchSummary> {
  const { prepared, limit } = await prepareConfirmed(run, options, deps).catch((error: unknown) => {
    throw withNothingSent(error, NOTHING_SENT_HINT)
  })
  const { gathered, plan, planned } = prepared
  const { drop } = run
  const sends = options.reconcileOnly !== true
  await storeLimits(run, options)
  const { contractAddress: contract, blockchain, signal } = options
  const carried = sends ? await setRunLimit(deps.client, { limit, contract, blockchain, signal }) : limit
  if (sends) await deps.beforeSending?.(planned, carried)
  // Replace labels before storing the rows, because a run that has stored its NFTs doesn't check labels again.
  const { relabeled } = prepared.mints
  if (relabeled.length > 0 && options.label != null)
    await relabelOnServer(deps.client, options, relabeled, options.label)
  await storeAliases(deps.client, options, prepared.pairs)
  const rows = await enterRows(run, options, prepared)
  // Adopted rows may have been counted as failed.
  if (!sends && prepared.mints.adopted.length > 0) await run.recount()
  const context = new RunContext(options, deps, run, carried)
  const poller = new StatusPoller(context, drop.marker ?? undefined)
  try {
    if (sends) context.emit(planned)
    if (options.settle !== undefined) await markRows(context, options.settle)
    const sendCounts = sends ? await sendAll(context, plan, rows, poller) : { requests: 0, attempts: 0 }
    const waits = options.wait !== false && context.stopReason === null
    const reconciled = waits || !sends ? await resolveAndAwait(context, poller) : null
    const { counts } = run
    const isOver = countOpenRows(counts) === 0
    // The timeout may expire just as the last row is deployed.
    const stopped =
      isOver && context.stopReason?.code === 'pending' ? null : (limitStopReason(context, poller) ?? context.stopReason)
    if (isOver) {
      await run.write((sql) => endRun(sql, run.id, Date.now()))
    }
    const twice = await run.read((sql) => countMintedTwice(sql, run.id, LATE_REASON))
    const burned = await run.read((sql) => countBurned(sql, run.id))
    return {
      run: { id: drop.id, name: drop.name },
      counts,
      burned,
      ...sendCounts,
      changes: gathered.changes,
      stopped,
      ...(await collectListedRows(readResults(run), counts, twice)),
      reconciled,
      waiting: poller.waitReason,
      exitCode: selectExitCode(counts, twice, stopped, waits),
    }
  } finally {
    context.close()
    await poller.waitForBackgroundPoll()
  }
}

/** Prepares the run, and asks for permission and confirmation to send its rows. Sends nothing itself. */
async function prepareConfirmed(run: StoredRun, options: BatchOptions, deps: BatchDeps) {
  const prepared = await prepare(run, options, deps, { writes: true })
  const { gathered, plan, planned } = prepared
  const { drop } = run
  const sends = options.reconcileOnly !== true
  const mints = plannedMints(run, gathered.rows, plan, { client: deps.client, signal: options.signal })
  const permitted = (sends ? await deps.permit?.(planned, drop.maxCost, mints) : null) ?? null
  const limit = runLimit(drop.id, { permitted, commandLimit: options.maxCostWei, storedLimit: drop.maxCost })
  if (sends) await deps.confirm?.(planned, limit, mints)
  return { prepared, limit }
}

/**
 * Returns the stop reason `max_cost` if every row was sent, but transactions need a higher limit or lower fees. Returns
 * null otherwise.
 */
function limitStopReason(
  { run: { counts }, stopReason }: RunContext,
  { waitReason }: StatusPoller,
): BatchSummary['stopped'] {
  const isOutOfTime = stopReason === null || stopReason.code === 'pending'
  if (!isOutOfTime || counts.pending + counts.unknown > 0 || !isStuckReason(waitReason)) return null
  return {
    code: 'max_cost',
    message: 'a signed transaction needs a higher fee than the limit of the run allows',
    hint: null,
  }
}

/** Stores the limits of the run. Must only be called after the user has confirmed them. */
async function storeLimits(run: StoredRun, { maxCostWei, maxFeeWei }: BatchOptions): Promise<void> {
  if (maxCostWei === undefined && maxFeeWei === undefined) return
  await run.write((sql) => {
    if (maxCostWei !== undefined) updateDrop(sql, run.id, { max_cost: String(maxCostWei) })
    if (maxFeeWei !== undefined) updateDrop(sql, run.id, { max_fee: String(maxFeeWei) })
  })
}

async function* readResults(run: StoredRun): AsyncGenerator<ResultRow> {
  const { state, drop } = run
  const pages = readRowPages(state, (sql, after, limit) => resultsPage(sql, drop, { after, limit, live: false }))
  for await (const page of pages) for (const { result } of page) yield result
  for (const { result } of await run.read((sql) => readResultsOutsideManifest(sql, run.drop, false))) yield result
}

/** Resolves unknown outcomes after sending, and waits until every accepted row is deployed or failed. */
async function resolveAndAwait(context: RunContext, poller: StatusPoller) {
  const { options, now, run } = context
  const deadline = now() + (options.timeout ?? DEFAULT_WAIT_MS)
  // Poll once to find out whether the server returns metadata unchanged. This must be known before a row is declared
  // absent.
  if (run.counts.unknown > 0) await poller.pollOnce()
  const reconciled = await reconcile(context, {
    markerKey: run.drop.marker ?? undefined,
    readOtherRecords: (ids) => readOtherRecords(run, ids),
    onWait: () => poller.pollInBackground(),
    deadline,
  })
  await poller.waitForBackgroundPoll()
  if (options.wait !== false) await poller.waitForAll(deadline)
  return reconciled === null ? null : { adopted: reconciled.adopted, basis: reconciled.basis }
}

async function sendAll(context: RunContext, plan: RequestPlan, rows: RowLocation, poller: StatusPoller) {
  const { run } = context
  const urlOf = await uploadFiles(context, plan, rows)
  if (urlOf === null) return { requests: 0, attempts: 0 }
  await limitFees(context)
  const requestOf = createRequestBuilder(run, rows, plan, urlOf)
  return await new Sender(context, plan, requestOf, () => void poller.pollInBackground()).run()
}

/**
 * Sets the fee limit of the run on the server. An existing limit is replaced only if this command's options have a
 * limit.
 */
async function limitFees({ run: { drop }, options, client, halt }: RunContext): Promise<void> {
  if (drop.maxFee === null) return
  const { contract: contract_address, blockchain, id: run } = drop
  const request = { run, contract_address, blockchain, max_fee: String(drop.maxFee) }
  const keep = options.maxFeeWei === undefined ? { only_if_unset: true } : {}
  await client.call('setrunmaxfee', { ...request, ...keep }, { signal: halt })
}
