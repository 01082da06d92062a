import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createnft } from '../api/endpoints/createnft.ts'
import { isAtWork } from '../core/lock-holder.ts'
import { lockHolder } from '../core/process-lock.ts'
import type { Plan } from './plan.ts'
import { type Prepared, prepare } from './prepare.ts'
import { requestsOf } from './request.ts'
import { checkOptions } from './run.ts'
import { familyId, lockFolder } from './run-files.ts'
import { SpoolReader } from './spool.ts'
import type { BatchOptions, CheckDeps, DryRun } from './types.ts'

const DEFAULT_RATE = 2

// As long as the URL that an uploaded file gets.
const UPLOADED = `ipfs://b${'a'.repeat(58)}`

/**
 * What `runBatch` with the same options would do, up to the first request. It makes the same checks and fails with the
 * same errors. It asks the server what `runBatch` asks it before sending, and writes nothing to the state directory.
 *
 * @throws GdnError as `runBatch`
 */
export async function dryRunBatch(options: BatchOptions, deps: CheckDeps): Promise<DryRun> {
  checkOptions(options)
  const holder = await lockHolder(lockFolder(options.stateDir, familyId(options)))
  if (holder !== null) throw isAtWork(holder)
  const drafts = await mkdtemp(join(tmpdir(), 'gdn-dry-run-'))
  try {
    const prepared = await prepare(options, deps, { lock: null, drafts })
    await deps.confirm?.(prepared.planned)
    return await describePlan(prepared, options)
  } finally {
    await rm(drafts, { recursive: true, force: true })
  }
}

async function describePlan({ found, gathered, planned }: Prepared, options: BatchOptions): Promise<DryRun> {
  const { run, ledger } = found
  const { path, plan } = gathered
  let bytes = 0
  let firstRequest: DryRun['firstRequest'] = null
  const spool = await SpoolReader.open(path)
  try {
    const build = requestsOf({ run, ledger, plan, spool, urlOf: () => UPLOADED })
    for (let request = 0; request < plan.requests; request++) {
      const { endpoint, body } = await build({ request, from: 0, size: plan.rowsOf(request).length })
      firstRequest ??= { endpoint, body }
      bytes += Buffer.byteLength(JSON.stringify(body))
    }
  } finally {
    await spool.close()
  }
  const { requests, receivers, files, reordered, rows, changes, notes = [] } = planned
  const rate = options.requestsPerSecond ?? createnft.ratePerSecond ?? DEFAULT_RATE
  return {
    run: { id: run.id, name: run.name },
    rows,
    requests,
    bytes,
    receivers,
    files,
    reordered,
    order: orderOf(plan, run.in_order),
    seconds: Math.max(0, requests - 1) / rate,
    changes,
    notes,
    firstRequest,
  }
}

/** What a person must know of the order: what is under way at the same time may be taken in either. */
function orderOf({ requests, reordered }: Plan, inOrder: boolean): string {
  if (inOrder || requests <= 1) return "Token ids follow the manifest's order"
  return reordered
    ? "Rows go receiver by receiver, in the order of each one's first row, and requests under way together may be taken in either order: --in-order keeps the manifest's"
    : 'Rows go as the manifest has them, but requests under way together may be taken in either order: --in-order keeps them apart'
}
