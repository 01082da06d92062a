import { countAll, countOnChain, latestCollections } from '../store/explorer-counts.ts'
import { lastNfts } from '../store/explorer-nfts.ts'
import { countUnderWay } from '../store/explorer-transactions.ts'
import { listSeenRuns } from '../store/runs.ts'
import type { ExplorerDeps, Viewer } from './explorer.ts'
import { withCollections } from './nft-lists.ts'
import { sumOfCounts, toCounts } from './places.ts'
import { runSummaries } from './runs.ts'
import type { Counts, Overview } from './types.ts'

const LATEST = 20

export async function showOverview(explorer: ExplorerDeps, viewer: Viewer): Promise<Overview> {
  const { db } = explorer
  const { accountId } = viewer
  const counted = await countAll(db, accountId)
  const nfts = sumOfCounts(counted.nfts)
  const chain = await countOnChain(db, accountId)
  const collections: Counts = { initiated: 0, deployed: 0, failed: 0 }
  for (const { status, count } of counted.collections) collections[status] += count
  const blockchains = [...new Set(counted.collections.map((row) => row.blockchain))].sort()
  const last = await lastNfts(db, accountId === null ? null : await latestCollections(db, accountId, LATEST), LATEST)
  return {
    collections,
    nfts: toCounts(nfts),
    pipeline: { files: nfts.files, mint: Math.max(0, nfts.waiting - chain), chain },
    transactions_under_way: await countUnderWay(db, accountId),
    blockchains: blockchains.map((blockchain) => {
      const counts = counted.nfts.find((row) => row.blockchain === blockchain)
      const all = counts === undefined ? 0 : counts.files + counts.waiting + counts.deployed + counts.failed
      const those = counted.collections.filter((row) => row.blockchain === blockchain)
      return { blockchain, collections: those.reduce((sum, { count }) => sum + count, 0), nfts: all }
    }),
    runs: await runSummaries(explorer, viewer, await listSeenRuns(db, accountId, { offset: 0, limit: LATEST })),
    latest: await withCollections(explorer, viewer, last),
  }
}
