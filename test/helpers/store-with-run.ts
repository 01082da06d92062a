import type { Store } from '../../src/server/store/open-store.ts'
import { startRun } from '../../src/server/store/runs.ts'
import { freshDataDir, WALLETS } from './backend.ts'
import { insertAccountAndRequest, insertCollection, insertNfts } from './rows.ts'
import { openTestStore } from './test-database.ts'

const [ALICE] = WALLETS
const NOW = 1_800_000_000_000

export interface StoreWithRun {
  store: Store
  /** Adds NFTs of the run that are accepted and not signed for. */
  addNfts(count: number): Promise<void>
  remove(): Promise<void>
}

/** Opens a store with the run `run` of the account `a` into a deployed collection `c` of its own. */
export async function storeWithRun(): Promise<StoreWithRun> {
  const dir = await freshDataDir()
  const store = await openTestStore(dir.path)
  await insertAccountAndRequest(store.db, { accepted_at: NOW, run: 'run' })
  await insertCollection(store.db)
  await startRun(store.db, { account_id: 'a', run: 'run', collection_id: 'c', started_at: NOW })
  let added = 0
  return {
    store,
    addNfts: async (count) => {
      const nfts = Array.from({ length: count }, () => ({
        ...{ id: `n${added++}`, request_id: 'r', collection_id: 'c', receiver: ALICE, metadata: '{}' },
        ...{ next_attempt_at: NOW, status: 'initiated' as const, step: 'mint' as const },
      }))
      await insertNfts(store.db, nfts)
    },
    remove: async () => {
      await store.close()
      await dir.remove()
    },
  }
}
