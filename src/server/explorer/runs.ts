import { setImmediate as nextTurn } from 'node:timers/promises'
import { ZERO_ADDRESS } from '../../api/address.ts'
import { chunksOf } from '../../core/chunks-of.ts'
import { isoTime } from '../../core/time.ts'
import { listVisibleCollections } from '../store/explorer-collections.ts'
import { listBuckets, readRunCounts, ZERO_COUNTS } from '../store/explorer-counts.ts'
import { countOwnedInRun, listFailedNftsAfter } from '../store/explorer-nfts.ts'
import { findTransactions, listTransactionsOfBucket } from '../store/explorer-transactions.ts'
import { countRuns, findVisibleRun, listVisibleRuns, type VisibleRun } from '../store/runs.ts'
import { recentPeriod, toCollectionRef } from './collections.ts'
import { type ExplorerDeps, type Part, shortenForList, type Viewer } from './explorer.ts'
import { listInBuckets } from './nft-lists.ts'
import { toCounts } from './places.ts'
import { forEachWithYield } from './slow-facts.ts'
import type { Counts, NftSummary, Page, RunDetails, RunSummary, Status } from './types.ts'

export async function runSummaries(
  explorer: ExplorerDeps,
  { accountId }: Viewer,
  runs: readonly VisibleRun[],
): Promise<RunSummary[]> {
  const { db } = explorer
  const ids = [...new Set(runs.map((run) => run.collection_id))]
  const collections = new Map(
    (await listVisibleCollections(db, accountId, ids)).map((row) => [row.id, toCollectionRef(row)]),
  )
  const counted = await readRunCounts(db, runs)
  const summaries: RunSummary[] = []
  for (const [index, row] of runs.entries()) {
    const collection = collections.get(row.collection_id)
    if (collection === undefined) continue
    const counts = toCounts(counted[index] ?? ZERO_COUNTS)
    summaries.push({
      run: row.run,
      collection: { ...collection, name: shortenForList(collection.name) },
      counts,
      burned: counts.deployed === 0 ? 0 : await countBurned(explorer, row, counts),
      first_accepted_at: isoTime(row.started_at),
      last_accepted_at: isoTime(row.last_at ?? row.started_at),
    })
  }
  return summaries
}

async function countBurned(explorer: ExplorerDeps, row: VisibleRun, counts: Counts): Promise<number> {
  const { account_id, collection_id: collectionId, run } = row
  const state = `${JSON.stringify(counts)} ${recentPeriod(explorer)}`
  const count = () => countOwnedInRun(explorer.db, { collectionId, run, owner: ZERO_ADDRESS })
  return await explorer.slow.get(`burned of run ${account_id} ${run}`, state, count)
}

export async function showRuns(explorer: ExplorerDeps, viewer: Viewer, part: Part): Promise<Page<RunSummary>> {
  const runs = await listVisibleRuns(explorer.db, viewer.accountId, part)
  const total = await countRuns(explorer.db, viewer.accountId)
  return { total, offset: part.offset, items: await runSummaries(explorer, viewer, runs) }
}

const MAX_SHOWN_REASONS = 100
/** Maximum number of IDs that are listed for each failure reason. */
const MAX_IDS = 20
/** Maximum number of distinct reasons that are counted. Further reasons are omitted. */
const MAX_REASONS = 10_000
const FAILED_PER_BATCH = 1000

/** Returns the details of a run. Returns null if the viewer may not see a run with this name. */
export async function showRun(explorer: ExplorerDeps, viewer: Viewer, name: string): Promise<RunDetails | null> {
  const row = await findVisibleRun(explorer.db, viewer.accountId, name)
  if (row === null) return null
  const [summary] = await runSummaries(explorer, viewer, [row])
  if (summary === undefined) return null
  const { deployed, failed } = summary.counts
  const key = `${row.account_id} ${row.run}`
  const isSolana = summary.collection.blockchain.startsWith('solana')
  return {
    ...summary,
    failures:
      failed === 0 ? [] : await explorer.slow.get(`failures ${key}`, `${failed}`, () => failuresOf(explorer, row)),
    gas_used: isSolana
      ? null
      : deployed === 0
        ? '0'
        : await explorer.slow.getSoon(`gas of run ${key}`, `${deployed} ${failed}`, () => sumGas(explorer, row)),
  }
}

async function failuresOf({ db }: ExplorerDeps, { collection_id, run }: VisibleRun): Promise<RunDetails['failures']> {
  const reasons = new Map<string, { count: number; ids: string[] }>()
  for (let after = -1; ; ) {
    const failed = await listFailedNftsAfter(db, { collectionId: collection_id, run, after }, FAILED_PER_BATCH)
    for (const { id, error } of failed) {
      const reason = reasons.get(error ?? '')
      if (reason !== undefined) {
        reason.count += 1
        if (reason.ids.length < MAX_IDS) reason.ids.push(id)
      } else if (reasons.size < MAX_REASONS) reasons.set(error ?? '', { count: 1, ids: [id] })
    }
    const last = failed.at(-1)
    if (last === undefined || failed.length < FAILED_PER_BATCH) break
    after = last.seq
    await nextTurn()
  }
  return [...reasons]
    .sort(([, a], [, b]) => b.count - a.count)
    .slice(0, MAX_SHOWN_REASONS)
    .map(([error, { count, ids }]) => ({ error: shortenForList(error), count, nft_gdn_ids: ids }))
}

/**
 * Returns the gas that a run's NFTs used. If a transaction also minted other NFTs, its gas is counted in proportion.
 */
async function sumGas({ db }: ExplorerDeps, { collection_id, run }: VisibleRun): Promise<string> {
  const shares = new Map<string, number>()
  await forEachWithYield(await listBuckets(db, { collectionId: collection_id, run }), async ({ bucket }) => {
    for (const { id, count } of await listTransactionsOfBucket(db, { collectionId: collection_id, run, bucket })) {
      shares.set(id, (shares.get(id) ?? 0) + count)
    }
  })
  const ids = [...shares.keys()]
  let gas = 0n
  await forEachWithYield([...chunksOf(ids, 500)], async (part) => {
    for (const row of await findTransactions(db, { by: 'id', ids: part }, part.length)) {
      const share = BigInt(shares.get(row.id) ?? 0)
      gas += (BigInt(row.gas_used ?? 0) * share) / BigInt(Math.max(1, row.token_count))
    }
  })
  return String(gas)
}

/** Returns NFTs of a run in the order of acceptance. Returns null if the viewer may not see a run with this name. */
export async function listNftsOfRun(
  explorer: ExplorerDeps,
  { accountId }: Viewer,
  name: string,
  part: Part & { status: Status | null },
): Promise<Page<NftSummary> | null> {
  const row = await findVisibleRun(explorer.db, accountId, name)
  return row === null ? null : await listInBuckets(explorer, { collectionId: row.collection_id, run: row.run }, part)
}
