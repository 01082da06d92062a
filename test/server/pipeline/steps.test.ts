import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  type AskSigning,
  EMBEDDED_FEES,
  type EmbeddedSigners,
  openEmbeddedSigners,
  type Signer,
  type Signers,
} from '../../../src/server/chain/signers.ts'
import { createMakeStep } from '../../../src/server/pipeline/make-step.ts'
import { createMintStep } from '../../../src/server/pipeline/mint-step.ts'
import { insertCollection } from '../../../src/server/store/collections.ts'
import { insertNfts } from '../../../src/server/store/nfts.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import { insertRequest } from '../../../src/server/store/requests.ts'
import { insertTransaction } from '../../../src/server/store/transactions.ts'
import { freshDataDir, WALLETS } from '../../helpers/backend.ts'
import { openTestStore } from '../../helpers/test-database.ts'

const [ALICE] = WALLETS
const NOW = 1_800_000_000_000
const now = () => NOW

let dir: Awaited<ReturnType<typeof freshDataDir>>
let store: Store
let signers: EmbeddedSigners
const signingBy =
  (by: Signers): AskSigning =>
  async () => ({ chainId: 137, signers: by, fees: EMBEDDED_FEES })

beforeEach(async () => {
  dir = await freshDataDir()
  store = await openTestStore(dir.path)
  signers = await openEmbeddedSigners(dir.path)
  await store.db.insertInto('accounts').values({ id: 'a', email: null, created_at: NOW }).execute()
  const request = { id: 'r', account_id: 'a', endpoint: 'e', idempotency_key: null, body_hash: '', response: '' }
  await insertRequest(store.db, { ...request, accepted_at: NOW })
})
afterEach(async () => {
  await store.close()
  await dir.remove()
})

const addCollection = (id: string, changes: { status: 'initiated' | 'failed'; name?: string; error?: string }) =>
  insertCollection(store.db, {
    id,
    account_id: 'a',
    request_id: 'r',
    blockchain: 'polygon',
    name: id,
    symbol: 'C',
    wallet_address: ALICE,
    contract_address: `0x${id}`,
    factory_address: ALICE,
    enable_api: 1,
    enable_transfer: 1,
    is_locked: 0,
    description: null,
    image: null,
    next_token_id: '1',
    next_attempt_at: NOW,
    ...changes,
  })

describe('the step that signs for mints', () => {
  it('fails NFTs that were accepted in the moment in which their collection failed, with its reason', async () => {
    await addCollection('c', { status: 'failed', error: 'the collection could not be deployed' })
    const nft = { request_id: 'r', collection_id: 'c', receiver: ALICE, metadata: '{}', next_attempt_at: NOW }
    await insertNfts(store.db, [
      { ...nft, id: 'ready', status: 'initiated', step: 'mint' },
      { ...nft, id: 'fetching', status: 'initiated', step: 'files' },
    ])
    const step = createMintStep({ store, signing: signingBy(signers), now, onSigned: () => {} })
    expect(await step.turn()).toBeNull()
    const nfts = await store.db.selectFrom('nfts').select(['id', 'status', 'step', 'error']).orderBy('id').execute()
    const failed = { status: 'failed', step: 'done', error: 'the collection could not be deployed' }
    expect(nfts).toEqual([
      { id: 'fetching', ...failed },
      { id: 'ready', ...failed },
    ])
  })
})

describe('the step that signs for collections', () => {
  const addFactory = () =>
    insertTransaction(store.db, {
      id: 'factory',
      blockchain: 'polygon',
      signer: signers.admin.address,
      nonce: 0,
      kind: 'factory',
      collection_id: null,
      start_id: null,
      token_count: 0,
      directory: null,
      raw: '',
      hash: 'factory',
      state: 'final',
      block_number: 1,
      block_hash: '',
      gas_used: '0',
      created_at: NOW,
      next_attempt_at: NOW,
    })
  const collections = () =>
    store.db.selectFrom('collections').select(['id', 'transaction_id', 'lease_until']).orderBy('id').execute()

  it('signs for the others when one fails, and holds none of them for the rest of the lease', async () => {
    await addFactory()
    // A signer that fails for the first only, as one behind a network may.
    let failed = false
    const [real] = signers.operators as [Signer]
    const operator: Signer = {
      address: real.address,
      sign: (transaction) => {
        if (failed) return real.sign(transaction)
        failed = true
        return Promise.reject(new Error('the signer is away'))
      },
    }
    for (const id of ['c1', 'c2', 'c3']) await addCollection(id, { status: 'initiated' })
    const step = createMakeStep({
      store,
      signing: signingBy({ ...signers, operators: [operator] }),
      now,
      onSigned: () => {},
    })
    await expect(step()).rejects.toThrow('the signer is away')
    const rows = await collections()
    expect(rows.filter((row) => row.transaction_id !== null)).toHaveLength(2)
    expect(rows.filter((row) => row.lease_until !== 0)).toEqual([])
    const { next_nonce } = await store.db.selectFrom('lanes').select('next_nonce').executeTakeFirstOrThrow()
    expect(next_nonce).toBe(2)
  })

  it('signs nothing for a collection whose lease it has lost meanwhile', async () => {
    await addFactory()
    await addCollection('c1', { status: 'initiated' })
    const taken: Store = {
      ...store,
      transaction: async (work) => {
        await store.db
          .updateTable('collections')
          .set((c) => ({ generation: c('generation', '+', 1) }))
          .execute()
        return store.transaction(work)
      },
    }
    await createMakeStep({ store: taken, signing: signingBy(signers), now, onSigned: () => {} })()
    expect((await collections()).map((row) => row.transaction_id)).toEqual([null])
    expect(await store.db.selectFrom('transactions').select('id').where('kind', '=', 'collection').execute()).toEqual(
      [],
    )
  })
})
