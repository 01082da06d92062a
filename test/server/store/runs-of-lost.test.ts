import { afterEach, beforeEach, expect, it } from 'vitest'
import { settle } from '../../../src/server/pipeline/settle.ts'
import { stateDb } from '../../../src/server/state/state-db.ts'
import { updateCollection } from '../../../src/server/store/collections.ts'
import { assignTransactionsToRun, readFeesOfMined, readTransactionsOfRun } from '../../../src/server/store/run-costs.ts'
import type { TransactionKind } from '../../../src/server/store/schema.ts'
import { findTransactionByNonce } from '../../../src/server/store/transactions.ts'
import { WALLETS } from '../../helpers/backend.ts'
import { insertNfts, insertTransaction, insertTransfer } from '../../helpers/rows.ts'
import { SILENT_LOG } from '../../helpers/silent-log.ts'
import { type StoreWithRun, storeWithRun } from '../../helpers/store-with-run.ts'

const [ALICE, BOB] = WALLETS
const OF_RUN = { collection_id: 'c', run: 'run' }

let place: StoreWithRun
beforeEach(async () => {
  place = await storeWithRun()
})
afterEach(() => place?.remove())

/** Inserts what a transaction of each kind was signed for. */
const SIGNED_FOR: Partial<Record<TransactionKind, () => Promise<unknown>>> = {
  mint: () =>
    insertNfts(place.store.db, [
      {
        ...{ id: 'n', request_id: 'r', collection_id: 'c', receiver: ALICE, metadata: '{}', next_attempt_at: 0 },
        ...{ status: 'initiated', step: 'chain', transaction_id: 't', batch_index: 0 },
      },
    ]),
  transfer: async () => {
    await place.addNfts(1)
    const transfer = { id: 'x', request_id: 'r', collection_id: 'c', nft_id: 'n0', blockchain: 'polygon' as const }
    const parties = { kind: 'transfer', sender: ALICE, receiver: BOB } as const
    await insertTransfer(place.store.db, { ...transfer, ...parties, status: 'initiated', transaction_id: 't' })
  },
  update: async () => {
    await place.addNfts(1)
    const update = { id: 'u', request_id: 'r', collection_id: 'c', nft_id: 'n0', blockchain: 'polygon' as const }
    const work = { kind: 'update', metadata: '{}', status: 'initiated', step: 'chain', transaction_id: 't' } as const
    await stateDb(place.store.db)
      .insertInto('updates')
      .values({ ...update, ...work, next_attempt_at: 0 })
      .execute()
  },
  collection: () => updateCollection(place.store.db, 'c', { transaction_id: 't' }),
}

it.each(Object.keys(SIGNED_FOR) as TransactionKind[])(
  'a lost transaction of kind %s counts toward a limit that its run gets later',
  async (kind) => {
    const { store } = place
    await insertTransaction(store.db, {
      ...{ id: 't', blockchain: 'polygon', signer: BOB, nonce: 0, kind, directory: null, raw: '0x01', hash: '0x02' },
      ...{ collection_id: kind === 'mint' || kind === 'collection' ? 'c' : null, start_id: null, token_count: 1 },
      ...{ state: 'signed', block_number: null, block_hash: null, gas_used: null, created_at: 0, next_attempt_at: 0 },
    })
    await SIGNED_FOR[kind]?.()
    const transaction = await findTransactionByNonce(store.db, 'polygon', BOB, 0)
    if (transaction === null) throw new Error('no transaction')
    const outcome = { state: 'lost', seen: {} } as const
    await settle({ store, log: SILENT_LOG }, [{ transaction, outcome, verdict: { kind: 'again' } }])
    await store.transaction((db) => assignTransactionsToRun(db, OF_RUN))
    expect((await readTransactionsOfRun(store.db, OF_RUN)).lostSignings).toEqual([['0x01']])
  },
)

it('a mined transaction whose rows another one has is paid by its run', async () => {
  const { store } = place
  for (const [nonce, state] of (['final', 'reverted', 'cancelled', 'signed', 'lost'] as const).entries()) {
    await insertTransaction(store.db, {
      ...{ id: state, blockchain: 'polygon', signer: BOB, nonce, kind: 'provenance', directory: null, raw: '0x01' },
      ...{ hash: `0x0${nonce}`, collection_id: null, start_id: null, token_count: 0, state, created_at: 0 },
      ...{ block_number: 1, block_hash: '0x', gas_used: '1', fee_paid: '5', next_attempt_at: 0, run: 'run' },
      run_collection_id: 'c',
    })
  }
  const mined = await readFeesOfMined(store.db, { collectionId: 'c', run: 'run' })
  expect(mined.map(({ id, fee_paid }) => [id, fee_paid]).sort()).toEqual([
    ['cancelled', '5'],
    ['final', '5'],
    ['reverted', '5'],
  ])
})
