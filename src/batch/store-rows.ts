import { MAX_IDS_PER_REQUEST } from '../api/endpoints/getnfts.ts'
import { readNfts } from '../client/read-records.ts'
import { updateDrop } from '../state/drops.ts'
import { endRun } from '../state/runs.ts'
import { enterRows } from './enter-rows.ts'
import { gather, planRows, type RowSet, withoutMinted } from './gather.ts'
import { knownReferences } from './minted/known-references.ts'
import { storeRowsOfFinishedRun } from './replace-rows.ts'
import type { RequestPlan } from './request-plan.ts'
import type { AdoptedRow } from './rows/manifest-row.ts'
import { countOpenRows } from './rows/row-counts.ts'
import { withLeasedRun } from './run.ts'
import { RunContext } from './runs/run-context.ts'
import type { StoredRun } from './runs/stored-run.ts'
import { StatusPoller } from './send/status-poller.ts'
import type { BatchDeps, BatchOptions, Items } from './types.ts'

type Deps = Pick<BatchDeps, 'client' | 'pacer' | 'now' | 'sleep'> & { readManifest: () => Items }

/**
 * Stores the rows of an applied manifest, so that the results of its run match the manifest. Like `runBatch`, also
 * stores rows that another machine minted, even if this machine has no run of the manifest yet. Stores nothing if any
 * row has no NFT, because the run isn't finished. Sends no rows.
 *
 * @throws GdnError `invalid_manifest`, `already_accepted`, `run_busy`, `data_dir`, and errors of the server
 */
export async function storeRows(options: BatchOptions, deps: Deps): Promise<void> {
  await withLeasedRun(options, {}, async (run) => {
    const gathered = await gather(deps, run, { writes: true, ensNames: options.ensNames })
    const plan = await planRows(run, gathered, options)
    if (plan.rows === 0 || !gathered.isRead) return await storeRowsOfFinishedRun(run, gathered)
    // `gdn apply` has already checked the rows and labels, and replaced the labels of adopted rows.
    const adopting = { ...options, adopt: true, keepEdited: true }
    const fromServer = await knownReferences(run, adopting, deps.client, { gathered, plan })
    const adopted = fromServer?.rows ?? []
    const rest = withoutMinted(run, plan, { adopted: adopted.map(({ row }) => row) })
    if (rest.rows === 0) await storeAdoptedRows(run, options, deps, { gathered, plan: rest, adopted })
  })
}

/** Stores adopted rows with their NFTs, and polls the status of these NFTs once. */
async function storeAdoptedRows(
  run: StoredRun,
  options: BatchOptions,
  deps: Deps,
  { gathered, plan, adopted }: { gathered: RowSet; plan: RequestPlan; adopted: AdoptedRow[] },
): Promise<void> {
  const isDynamic = run.drop.setId === null && (await areNftsDynamic(adopted, options, deps))
  const mints = { listed: null, adopted, relabeled: [], differing: [], notes: [] }
  await enterRows(run, options, { gathered, plan, mints, pairs: [], replacedOperationIds: [] })
  if (isDynamic) await run.write((sql) => updateDrop(sql, run.id, { dynamic: 1 }))
  const context = new RunContext(options, deps, run)
  try {
    await new StatusPoller(context, run.drop.marker ?? undefined).pollOnce()
  } finally {
    context.close()
  }
  if (countOpenRows(run.counts) === 0) await run.write((sql) => endRun(sql, run.id, Date.now()))
}

/**
 * Returns whether all adopted NFTs are dynamic. If they are, rows that are added later are also minted as dynamic NFTs.
 */
async function areNftsDynamic(
  adopted: readonly AdoptedRow[],
  { signal }: BatchOptions,
  { client }: Pick<Deps, 'client'>,
): Promise<boolean> {
  const ids = adopted.map(({ nftGdnId }) => nftGdnId)
  const nfts = await readNfts({ client, signal }, ids, MAX_IDS_PER_REQUEST)
  return [...nfts.values()].every(({ is_dynamic }) => is_dynamic === true)
}
