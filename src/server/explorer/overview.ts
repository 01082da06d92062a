import { countByBlockchain, countNftsInPendingBundles, latestCollections } from '../store/explorer-counts.ts'
import { lastNfts } from '../store/explorer-nfts.ts'
import { countPendingTransactions } from '../store/explorer-transactions.ts'
import { listVisibleRuns } from '../store/runs.ts'
import type { ExplorerDeps, Viewer } from './explorer.ts'
import { withCollections } from './nft-lists.ts'
import { sumCounts, toCounts } from './places.ts'
import { runSummaries } from './runs.ts'
import type { Counts, Overview } from './types.ts'

const MAX_LATEST_ITEMS = 20

export async function showOverview(explorer: ExplorerDeps, viewer: Viewer): Promise<Overview> {
  const { db } = explorer
  const { accountId } = viewer
  const counted = await countByBlockchain(db, accountId)
  const nfts = sumCounts(counted.nfts)
  const onChainCount = await countNftsInPendingBundles(db, accountId)
  const collections: Counts = { initiated: 0, deployed: 0, failed: 0 }
  for (const { status, count } of counted.collections) collections[status] += count
  const blockchains = [...new Set(counted.collections.map((row) => row.blockchain))].sort()
  const last = await lastNfts(
    db,
    accountId === null ? null : await latestCollections(db, accountId, MAX_LATEST_ITEMS),
    MAX_LATEST_ITEMS,
  )
  return {
    collections,
    nfts: toCounts(nfts),
    pipeline: { files: nfts.files, mint: Math.max(0, nfts.waiting - onChainCount), chain: onChainCount },
    transactions_under_way: await countPendingTransactions(db, accountId),
    blockchains: blockchains.map((blockchain) => {
      const counts = counted.nfts.find((row) => row.blockchain === blockchain)
      const all = counts === undefined ? 0 : counts.files + counts.waiting + counts.deployed + counts.failed
      const those = counted.collections.filter((row) => row.blockchain === blockchain)
      return { blockchain, collections: those.reduce((sum, { count }) => sum + count, 0), nfts: all }
    }),
    runs: await runSummaries(
      explorer,
      viewer,
      await listVisibleRuns(db, accountId, { offset: 0, limit: MAX_LATEST_ITEMS }),
    ),
    latest: await withCollections(explorer, viewer, last),
  }
}
