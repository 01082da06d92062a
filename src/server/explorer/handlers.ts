// The handlers of the web explorer's routes, loaded with the first request.
export {
  findSeenCollection as findCollection,
  listSeenCollections as listCollections,
  normalizeAddress,
  showCollection,
} from './collections.ts'
export { listNfts, listOwned } from './nft-lists.ts'
export { showNft } from './nfts.ts'
export { showOverview } from './overview.ts'
export { listNftsOfRun, showRun, showRuns } from './runs.ts'
export { search } from './search.ts'
