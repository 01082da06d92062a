/** @module-tag slow */
import { privateKeyToAccount } from 'viem/accounts'
import { beforeEach, expect, it } from 'vitest'
import { createSigner } from '../../../src/server/chain/evm/create-signer.ts'
import { EMBEDDED_FEES, type GetSigningTerms } from '../../../src/server/chain/evm/evm-signer.ts'
import { createMintStep } from '../../../src/server/pipeline/mint-step.ts'
import { stateDb } from '../../../src/server/state/state-db.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import type { TransactionsTable } from '../../../src/server/store/schema.ts'
import { raiseNonce } from '../../../src/server/store/transactions.ts'
import { temporaryStore, WALLETS } from '../../helpers/backend.ts'
import { evmDriver } from '../../helpers/evm-driver.ts'
import { insertAccountAndRequest, insertCollection, insertNfts } from '../../helpers/rows.ts'

// On a public network, a block comes every few seconds and counts after several more, so mints that were signed one
// after the other would take a minute for each batch.

const [ALICE] = WALLETS
const NOW = 1_800_000_000_000
const BATCH = 200
const KEYS = (['1', '2'] as const).map((digit) => `0x${digit.repeat(64)}` as const)
const ADDRESSES = KEYS.map((key) => privateKeyToAccount(key).address)

let store: Store
let added = 0

beforeEach(async () => {
  store = await temporaryStore()
  added = 0
  await insertAccountAndRequest(store.db, { accepted_at: NOW })
  // As the check of a network's signers does.
  for (const address of ADDRESSES) await raiseNonce(store.db, 'polygon', address, 0)
  for (const id of ['c', 'd']) {
    await insertCollection(store.db, {
      id,
      contract_address: `0x${Buffer.from(id).toString('hex').padStart(40, '0')}`,
    })
  }
})

const addNfts = (collection_id: string, count: number) =>
  insertNfts(
    store.db,
    Array.from({ length: count }, () => {
      added += 1
      const metadata = JSON.stringify({ title: `${added}`, description: '', file_fields: [], extra_fields: [] })
      const nft = { id: `n${added}`, request_id: 'r', collection_id, receiver: ALICE, metadata }
      return { ...nft, next_attempt_at: NOW, status: 'initiated', step: 'mint' } as const
    }),
  )

/** Signs until nothing more can be signed for these collections. */
async function sign(mintsInFlight = 16, collections = ['c', 'd']): Promise<void> {
  const signing: GetSigningTerms = async () => ({
    ...{ chainId: 137, fees: EMBEDDED_FEES },
    signers: { admin: null, operators: KEYS.map(createSigner) },
  })
  const driver = evmDriver(store, signing, { now: () => NOW, publicNetwork: { mintsInFlight } })
  const step = createMintStep({ store, driver, now: () => NOW, onSigned: () => {} })
  for (const id of collections) step.mark(id)
  while ((await step.turn()) === 0);
}

const signed = (collection = 'c') =>
  store.db
    .selectFrom('transactions')
    .select(['id', 'signer', 'nonce', 'start_id', 'token_count'])
    .where('collection_id', '=', collection)
    .orderBy('nonce')
    .execute()

const update = (changes: { mined?: TransactionsTable['mined']['__select__'] }, nonces: readonly number[]) =>
  stateDb(store.db)
    .updateTable('transactions')
    .set(changes)
    .where('collection_id', '=', 'c')
    .where('nonce', 'in', nonces)
    .execute()
const firsts = (count: number, from = 0) => Array.from({ length: count }, (_, index) => from + index)

it('signs for up to 16 full batches of a collection: one signer, and no gap between nonces or token IDs', async () => {
  await addNfts('c', 20 * BATCH)
  await sign()
  const all = await signed()
  expect(all.map(({ nonce, start_id, token_count }) => [nonce, start_id, token_count])).toEqual(
    firsts(16).map((index) => [index, String(1 + BATCH * index), BATCH]),
  )
  expect(new Set(all.map(({ signer }) => signer)).size).toBe(1)
  await sign()
  expect(await signed()).toHaveLength(16)
})

it('cuts the last of 16 mints in flight at the maximum supply', async () => {
  const limit = 16 * BATCH - 50
  await store.db
    .updateTable('collections')
    .set({ max_supply: String(limit) })
    .where('id', '=', 'c')
    .execute()
  await addNfts('c', 20 * BATCH)
  await sign()
  const counts = (await signed()).map(({ token_count }) => token_count)
  expect(counts).toEqual([...Array(15).fill(BATCH), BATCH - 50])
  await sign()
  expect(await signed()).toHaveLength(16)
})

it('signs for more as soon as earlier ones are in a block', async () => {
  await addNfts('c', 20 * BATCH)
  await sign()
  await update({ mined: 'success' }, firsts(3))
  await sign()
  expect(await signed()).toHaveLength(19)
})

it('has no more than 64 unconfirmed mints of a collection', async () => {
  await addNfts('c', 70 * BATCH)
  for (const round of firsts(6)) {
    await sign()
    await update({ mined: 'success' }, firsts(16 * (round + 1)))
  }
  expect(await signed()).toHaveLength(64)
})

it('lets NFTs that fill no batch wait for the next block', async () => {
  await addNfts('c', BATCH + 10)
  await sign()
  expect((await signed()).map(({ token_count }) => token_count)).toEqual([BATCH])
  await addNfts('c', 5)
  await sign()
  expect(await signed()).toHaveLength(1)
  await update({ mined: 'success' }, [0])
  await sign()
  expect((await signed()).map(({ token_count }) => token_count)).toEqual([BATCH, 15])
})

it('signs nothing more after a mint has reverted in a block', async () => {
  await addNfts('c', 20 * BATCH)
  await sign(2)
  await update({ mined: 'success' }, [0])
  await update({ mined: 'reverted' }, [1])
  await sign(2)
  expect(await signed()).toHaveLength(2)
})

it('signs for one batch at a time after a failed one, until one succeeds', async () => {
  await addNfts('c', 3 * BATCH)
  await stateDb(store.db).updateTable('collections').set({ batch_limit: BATCH }).where('id', '=', 'c').execute()
  await sign()
  await update({ mined: 'success' }, [0])
  await sign()
  expect(await signed()).toHaveLength(1)
  // What a success writes.
  await stateDb(store.db).updateTable('collections').set({ batch_limit: null }).where('id', '=', 'c').execute()
  await sign()
  expect(await signed()).toHaveLength(3)
})

it('signs for one batch at a time with mints_in_flight: 1', async () => {
  await addNfts('c', 3 * BATCH)
  await sign(1)
  await update({ mined: 'success' }, [0])
  await sign(1)
  expect(await signed()).toHaveLength(1)
})

it('spreads collections over signers, and keeps the signer of a collection while its mints are pending', async () => {
  await addNfts('c', 2 * BATCH)
  await sign(16, ['c'])
  await addNfts('d', 2 * BATCH)
  await sign(16, ['d'])
  await addNfts('c', 2 * BATCH)
  await sign()
  const [ofC, ofD] = [await signed('c'), await signed('d')]
  const signersOf = (rows: typeof ofC) => [...new Set(rows.map(({ signer }) => signer))]
  expect([ofC, ofD].map((rows) => rows.length)).toEqual([4, 2])
  expect(signersOf(ofC)).toHaveLength(1)
  expect(signersOf(ofC).concat(signersOf(ofD)).sort()).toEqual([...ADDRESSES].sort())
})

it('signs nothing while a reorg has made mints of another signer pending again', async () => {
  await addNfts('c', 3 * BATCH)
  await sign(2)
  const [, second] = await signed()
  await stateDb(store.db)
    .updateTable('transactions')
    .set({ signer: ADDRESSES.find((one) => one !== second?.signer) ?? '' })
    .where('id', '=', second?.id ?? '')
    .execute()
  await sign(16)
  expect(await signed()).toHaveLength(2)
})

it('never stores two pending mints with the same first token ID', async () => {
  await addNfts('c', BATCH)
  await sign()
  const [first] = await store.db.selectFrom('transactions').selectAll().execute()
  const again = { ...first, id: 'again', nonce: 1, hash: '0x2' } as NonNullable<typeof first>
  await expect(stateDb(store.db).insertInto('transactions').values(again).execute()).rejects.toThrow(/unique/i)
})
