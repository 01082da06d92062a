import { afterEach, beforeEach, expect, it } from 'vitest'
import { getCollections } from '../../../src/server/services/get-collections.ts'
import { getRunCosts } from '../../../src/server/services/get-run-costs.ts'
import { getTransactions } from '../../../src/server/services/get-transactions.ts'
import { WALLETS } from '../../helpers/backend.ts'
import { insertCollection, insertTransfer } from '../../helpers/rows.ts'
import { type StoreWithRun, storeWithRun } from '../../helpers/store-with-run.ts'

const [ALICE, BOB] = WALLETS
const MISSING = 'the signer 0x12 has 0 ETH on base and needs 0.003: send 0.003 ETH'

let place: StoreWithRun
const newest = { number: 7, time: Date.UTC(2026, 0, 31, 12), isStalled: false }

beforeEach(async () => {
  newest.isStalled = false
  place = await storeWithRun()
  await place.addNfts(1)
})
afterEach(() => place?.remove())

/** Services of a backend whose signers have this problem. */
const depsWith = (problem: string | null) => ({
  store: place.store,
  now: Date.now,
  chains: {
    remote: { problem: () => problem, has: () => true, silenceReason: () => null, newestBlock: async () => newest },
    transactionUrl: () => null,
    network: async () => ({ chainId: 8453 }),
  } as never,
})

it('says for which funds or blocks an accepted change waits', async () => {
  const transfer = {
    ...{ request_id: 'r', collection_id: 'c', nft_id: 'n0', sender: ALICE, receiver: BOB },
    blockchain: 'polygon' as const,
  }
  await insertTransfer(place.store.db, { ...transfer, id: 'waits', kind: 'transfer', status: 'initiated' })
  await insertTransfer(place.store.db, { ...transfer, id: 'failed', kind: 'transfer', status: 'failed', error: 'x' })
  const read = async (problem: string | null) => {
    const parsed = { transaction_gdn_ids: ['waits', 'failed'] }
    const { transactions } = await getTransactions(depsWith(problem), { accountId: 'a', parsed, body: parsed } as never)
    return transactions.map(({ pending_reason }) => pending_reason)
  }
  expect([await read(MISSING), await read(null)]).toEqual([
    [MISSING, undefined],
    [undefined, undefined],
  ])
  newest.isStalled = true
  expect(await read(null)).toEqual([
    'the network polygon has had no new block since 2026-01-31 12:00:00 UTC',
    undefined,
  ])
})

it('says for which funds or blocks a collection waits', async () => {
  await insertCollection(place.store.db, { id: 'd', contract_address: BOB, status: 'initiated' })
  const read = async (problem: string | null) => {
    const parsed = { transaction_gdn_ids: ['d', 'c'] }
    const { collections } = await getCollections(depsWith(problem), { accountId: 'a', parsed, body: parsed } as never)
    return collections.map((record) => record.pending_reason)
  }
  expect([await read(MISSING), await read(null)]).toEqual([
    [MISSING, undefined],
    [undefined, undefined],
  ])
  newest.isStalled = true
  expect(await read(null)).toEqual([
    'the network polygon has had no new block since 2026-01-31 12:00:00 UTC',
    undefined,
  ])
})

it('says for which funds a run waits, also without a limit', async () => {
  const waiting = async (problem: string | null) =>
    (await getRunCosts(depsWith(problem), { accountId: 'a', parsed: { run: 'run' } } as never)).costs.waiting
  expect([await waiting(MISSING), await waiting(null)]).toEqual([MISSING, null])
})
