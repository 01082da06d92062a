import type { Store } from '../../src/server/store/open-store.ts'
import { insertRequest } from '../../src/server/store/requests.ts'
import { startRun } from '../../src/server/store/runs.ts'
import { freshDataDir, WALLETS } from './backend.ts'
import { insertCollection, insertNfts } from './rows.ts'
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
  await store.db.insertInto('accounts').values({ id: 'a', email: null, created_at: NOW }).execute()
  const request = { id: 'r', account_id: 'a', endpoint: 'e', idempotency_key: null, body_hash: '', response: '' }
  await insertRequest(store.db, { ...request, accepted_at: NOW, run: 'run' })
  await insertCollection(store.db, {
    ...{ id: 'c', account_id: 'a', request_id: 'r', blockchain: 'polygon', name: 'c', symbol: 'C' },
    ...{ wallet_address: ALICE, contract_address: ALICE, factory_address: ALICE, enable_api: 1, enable_transfer: 1 },
    ...{ is_locked: 0, description: null, image: null, status: 'deployed', next_token_id: '1', next_attempt_at: NOW },
  })
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
