import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createnft } from '../api/endpoints/createnft.ts'
import { activeHolderError, inspectHolder, LOCK_TIMING } from '../core/lock-holder.ts'
import { listFamilyDrops } from '../state/drops.ts'
import { openState, openStateIfExists } from '../state/open-state.ts'
import { checkOptions } from './check-options.ts'
import { type PreparedRun, prepare } from './prepare.ts'
import type { RequestPlan } from './request-plan.ts'
import { resolveFamily } from './runs/moved-run.ts'
import { readStoredRun } from './runs/open-stored-run.ts'
import type { StoredRun } from './runs/stored-run.ts'
import { createRequestBuilder, NO_FEATURES, plannedMints } from './send/request.ts'
import type { BatchOptions, CheckDeps, DryRun } from './types.ts'

const DEFAULT_REQUESTS_PER_SECOND = 2

// A placeholder with the same length as the URL of an uploaded file.
const UPLOADED_URL = `ipfs://b${'a'.repeat(58)}`

/**
 * Returns the plan that `runBatch` would execute with the same options. Makes the same checks and queries that
 * `runBatch` makes before its first request, and throws the same errors. Writes nothing to the state directory.
 *
 * @throws GdnError, see `runBatch`
 */
export async function dryRunBatch(options: BatchOptions, deps: CheckDeps): Promise<DryRun> {
  checkOptions(options)
  return await withReadOnlyRun(options, async (run) => {
    const prepared = await prepare(run, options, deps, { writes: false })
    const mints = plannedMints(run, prepared.gathered.rows, prepared.plan, {
      client: deps.client,
      signal: options.signal,
    })
    await deps.confirm?.(prepared.planned, { run: run.id }, mints)
    return await describePlan(run, prepared, options, deps)
  })
}

/**
 * Opens the run of a manifest, and passes it to `readRun`. Doesn't store a new run, and changes nothing in the state
 * directory.
 *
 * @throws GdnError `run_busy` if another process has acquired the run
 */
export async function withReadOnlyRun<Result>(
  options: BatchOptions,
  readRun: (run: StoredRun) => Promise<Result>,
): Promise<Result> {
  const elsewhere = await mkdtemp(join(tmpdir(), 'gdn-dry-run-'))
  // If there is no state, open an empty temporary state, so that no database is created in the state directory.
  const state = (await openStateIfExists(options.stateDir)) ?? (await openState(elsewhere))
  try {
    for (const { holder } of await state.read((sql) => listFamilyDrops(sql, resolveFamily(sql, options)))) {
      if (holder !== null && (await inspectHolder(holder, LOCK_TIMING)).kind === 'alive')
        throw activeHolderError(holder)
    }
    return await readRun(await readStoredRun(state, options))
  } finally {
    state.close()
    await rm(elsewhere, { recursive: true, force: true })
  }
}

async function describePlan(
  run: StoredRun,
  { gathered, plan, planned }: PreparedRun,
  options: BatchOptions,
  { onPlanned }: CheckDeps,
): Promise<DryRun> {
  let bytes = 0
  let firstRequest: DryRun['firstRequest'] = null
  const build = createRequestBuilder(run, gathered.rows, plan, () => UPLOADED_URL)
  for (let request = 0; request < plan.requests; request++) {
    const { endpoint, body, rows } = await build({ request, from: 0, size: plan.rowsOf(request).length }, NO_FEATURES)
    firstRequest ??= { endpoint, body }
    const [first] = rows
    if (first !== undefined) onPlanned?.({ ...first.row, count: rows.length })
    bytes += Buffer.byteLength(JSON.stringify(body))
  }
  const { drop } = run
  const { requests, receivers, files, reordered, rows, changes, notes = [] } = planned
  const rate = options.requestsPerSecond ?? createnft.ratePerSecond ?? DEFAULT_REQUESTS_PER_SECOND
  return {
    run: { id: drop.id, name: drop.name },
    rows,
    requests,
    bytes,
    receivers,
    files,
    reordered,
    order: describeTokenOrder(plan, drop.inOrder),
    seconds: Math.max(0, requests - 1) / rate,
    changes,
    notes,
    firstRequest,
  }
}

/** Returns a sentence about the order of the token IDs, which depends on the server if requests are concurrent. */
function describeTokenOrder({ requests, reordered }: RequestPlan, inOrder: boolean): string {
  if (inOrder || requests <= 1) return 'Token IDs follow the order of the manifest'
  return reordered
    ? 'Rows are grouped by receiver, and the server may process concurrent requests in any order (--in-order keeps the order of the manifest)'
    : 'Rows are sent in the order of the manifest, but the server may process concurrent requests in any order (--in-order prevents that)'
}
