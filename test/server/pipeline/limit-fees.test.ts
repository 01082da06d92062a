import { afterEach, beforeEach, expect, it } from 'vitest'
import { parseUnits } from '../../../src/core/units.ts'
import { ENVELOPE_BYTES } from '../../../src/server/chain/evm/cost/drop-gas.ts'
import { readRunBudget } from '../../../src/server/chain/evm/cost/run-budget.ts'
import { createSigner } from '../../../src/server/chain/evm/create-signer.ts'
import type { Fees, Hex } from '../../../src/server/chain/evm/network.ts'
import { hasMaxCost } from '../../../src/server/chain/fees.ts'
import { computeFeesWithinLimits, findCostWaitReason, mayReplace } from '../../../src/server/pipeline/evm/limit-fees.ts'
import { replacementCost } from '../../../src/server/pipeline/evm/public-network/replacement-cost.ts'
import { stateDb } from '../../../src/server/state/state-db.ts'
import { insertAttempts } from '../../../src/server/store/attempts.ts'
import { recordChain } from '../../../src/server/store/chains.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import { limitedRuns, readTransactionsOfRun, setLimit } from '../../../src/server/store/run-costs.ts'
import { WALLETS } from '../../helpers/backend.ts'
import { insertTransaction } from '../../helpers/rows.ts'
import { type StoreWithRun, storeWithRun } from '../../helpers/store-with-run.ts'

const [ALICE] = WALLETS
const NOW = 1_800_000_000_000
/** What an NFT reserves, in gas and in wei at the fees offered. */
const NFT_GAS = 1000
const OFFERED = 100n
const ONE = BigInt(NFT_GAS) * OFFERED
const FEES: Fees = { maxFeePerGas: OFFERED, maxPriorityFeePerGas: 10n }
const CURRENT = { low: 40n, typical: 50n, high: 90n, offered: OFFERED, base: 40n, data: { bytes: 1, fee: 0n, gas: 0n } }

/** On a network that charges 10 wei for each byte. What is reserved is twice that. */
const WITH_DATA_FEE = { ...CURRENT, data: { bytes: 1, fee: 10n, gas: 0n } }
const PER_BYTE = 20n

let place: StoreWithRun
let store: Store
const signer = createSigner(`0x${'11'.repeat(32)}`)

beforeEach(async () => {
  place = await storeWithRun()
  store = place.store
})
afterEach(() => place?.remove())

const addNfts = (count: number) => place.addNfts(count)
const limit = (wei: bigint, nft_bytes = 0) =>
  setLimit(store.db, { account_id: 'a', run: 'run' }, { max_cost: String(wei), nft_gas: NFT_GAS, nft_bytes })
const run = async () => {
  const [only] = await limitedRuns(store.db, 'c')
  if (only === undefined || !hasMaxCost(only)) throw new Error('the run has no limit')
  return only
}
const batch = (count: number, gas = BigInt(NFT_GAS * count)) => ({
  gas,
  data: '0x' as Hex,
  nfts: Array(count).fill(null),
})
const signed = async (gas: bigint, maxFeePerGas: bigint) => {
  const fees = { maxFeePerGas, maxPriorityFeePerGas: 1n }
  return (await signer.sign({ chainId: 137, nonce: 0, to: ALICE as Hex, data: '0x', gas, fees })).raw
}
const addTransaction = async (raw: Hex, state: 'signed' | 'final' | 'reverted' | 'lost', more: object = {}) =>
  insertTransaction(store.db, {
    ...{
      id: `t-${state}`,
      blockchain: 'polygon',
      signer: signer.address,
      nonce: 0,
      kind: 'mint',
      collection_id: 'c',
      run_collection_id: 'c',
    },
    ...{ start_id: '1', token_count: 1, directory: null, raw, hash: `0x${state}`, state, run: 'run' },
    ...{ block_number: null, block_hash: null, gas_used: null, created_at: NOW, next_attempt_at: NOW },
    ...more,
  })

it('a batch is signed at the fees that are usual if the worst case fits', async () => {
  await limit(2n * ONE)
  await addNfts(2)
  expect(await computeFeesWithinLimits(store.db, await run(), batch(2), FEES, CURRENT)).toBe(FEES)
})

it('a batch offers less where the limit requires it, but no less than a block takes now', async () => {
  await limit(2n * ONE)
  await addNfts(2)
  // It needs more gas than was reserved.
  expect(await computeFeesWithinLimits(store.db, await run(), batch(2, 3000n), FEES, CURRENT)).toEqual({
    maxFeePerGas: 66n,
    maxPriorityFeePerGas: 10n,
  })
  expect(await computeFeesWithinLimits(store.db, await run(), batch(2, 4000n), FEES, CURRENT)).toMatchObject({
    maxFeePerGas: 50n,
  })
  expect(await computeFeesWithinLimits(store.db, await run(), batch(2, 4001n), FEES, CURRENT)).toBeNull()
})

it('the reason why a batch waits names a limit that is enough, also where it needs more than was reserved', async () => {
  await limit(2n * ONE)
  await addNfts(2)
  for (const gas of [4001n, 9000n]) {
    const reason = await findCostWaitReason(store.db, await run(), batch(2, gas), FEES, CURRENT)
    const [, coins = ''] = /with --max-cost ([0-9.]+) or more to raise the limit$/.exec(reason ?? '') ?? []
    await limit(parseUnits(coins) ?? 0n)
    expect(await computeFeesWithinLimits(store.db, await run(), batch(2, gas), FEES, CURRENT), reason ?? '').toBe(FEES)
    await limit(2n * ONE)
  }
})

it('a batch offers no more than the limit of fees, and waits while the next two blocks may need more', async () => {
  await setLimit(store.db, { account_id: 'a', run: 'run' }, { max_fee: '45' })
  const [only] = await limitedRuns(store.db, 'c')
  if (only === undefined) throw new Error('the run has no limit')
  expect(await computeFeesWithinLimits(store.db, only, batch(1), FEES, CURRENT)).toEqual({
    maxFeePerGas: 45n,
    maxPriorityFeePerGas: 10n,
  })
  expect(await computeFeesWithinLimits(store.db, only, batch(1), FEES, { ...CURRENT, base: 41n })).toBeNull()
  const low: Fees = { maxFeePerGas: 30n, maxPriorityFeePerGas: 10n }
  expect(await computeFeesWithinLimits(store.db, only, batch(1), low, { ...CURRENT, base: 10n })).toEqual(low)
})

it('a batch keeps within both limits of its run', async () => {
  await limit(2n * ONE)
  await setLimit(store.db, { account_id: 'a', run: 'run' }, { max_fee: '60' })
  await addNfts(2)
  // At the limit of fees, the same budget pays for more gas.
  expect(await computeFeesWithinLimits(store.db, await run(), batch(2, 3000n), FEES, CURRENT)).toMatchObject({
    maxFeePerGas: 60n,
  })
  expect(await computeFeesWithinLimits(store.db, await run(), batch(2, 4000n), FEES, CURRENT)).toMatchObject({
    maxFeePerGas: 50n,
  })
})

it('a batch does not take what other NFTs of the run reserve', async () => {
  await limit(3n * ONE)
  await addNfts(3)
  expect(await computeFeesWithinLimits(store.db, await run(), batch(1, 1000n), FEES, CURRENT)).toBe(FEES)
  expect(await computeFeesWithinLimits(store.db, await run(), batch(1, 1001n), FEES, CURRENT)).toMatchObject({
    maxFeePerGas: 99n,
  })
})

it('a batch has its share of the limit where fees have risen since its NFTs were accepted', async () => {
  await limit(10n * ONE)
  await addNfts(10)
  const risen = { maxFeePerGas: 160n, maxPriorityFeePerGas: 10n }
  const now = { ...CURRENT, typical: 90n, offered: 160n }
  expect(await computeFeesWithinLimits(store.db, await run(), batch(2), risen, now)).toMatchObject({
    maxFeePerGas: OFFERED,
  })
  expect(await computeFeesWithinLimits(store.db, await run(), batch(10), risen, now)).toMatchObject({
    maxFeePerGas: OFFERED,
  })
  expect(
    await computeFeesWithinLimits(store.db, await run(), batch(2), risen, { ...now, typical: OFFERED + 1n }),
  ).toBeNull()
})

it('a pending transaction counts with its worst case, a settled one with what it paid', async () => {
  await limit(10n * ONE)
  await addTransaction(await signed(2000n, 300n), 'signed')
  const budget = async () => await readRunBudget(store.db, await run(), CURRENT)
  expect(await budget()).toMatchObject({ max: 10n * ONE, paid: 0n, pending: 600_000n, reserved: 0n })
  const set = (changes: object) =>
    store.db
      .updateTable('transactions')
      .set(changes as never)
      .where('run', '=', 'run')
      .execute()
  await set({ state: 'final', gas_used: '1500', fee_paid: '77' })
  expect(await budget()).toMatchObject({ paid: 77n, pending: 0n })
  // A node that doesn't return the price: it counts as the highest.
  await set({ fee_paid: null })
  expect(await budget()).toMatchObject({ paid: 0n, pending: 600_000n })
  await set({ state: 'reverted', fee_paid: '70' })
  expect(await budget()).toMatchObject({ paid: 70n, pending: 0n })
})

it('a transaction in a block counts with the most that any of its signings can pay until the block is final', async () => {
  await limit(10n * ONE)
  const [first, raised] = [await signed(2000n, 300n), await signed(2000n, 400n)]
  await addTransaction(first, 'final', { watched: 1, block_number: 7, gas_used: '1500', fee_paid: '77' })
  const budget = async () => await readRunBudget(store.db, await run(), CURRENT)
  expect(await budget()).toMatchObject({ paid: 0n, pending: 600_000n })
  const attempt = { transaction_id: 't-final', max_priority_fee_per_gas: '1', created_at: NOW, cancels: 0 }
  await insertAttempts(store.db, [
    { ...attempt, number: 0, raw: first, hash: '0x0', max_fee_per_gas: '300' },
    { ...attempt, number: 1, raw: raised, hash: '0x1', max_fee_per_gas: '400' },
  ])
  await addTransaction(first, 'signed', { nonce: 1 })
  expect(await budget()).toMatchObject({ paid: 0n, pending: 800_000n + 600_000n, largest: 800_000n })
  expect(await readTransactionsOfRun(store.db, await run())).toMatchObject({ unfinalBlock: 7 })
  await store.db.updateTable('transactions').set({ watched: 0 }).execute()
  expect(await budget()).toMatchObject({ paid: 77n, pending: 600_000n, largest: 600_000n })
  expect(await readTransactionsOfRun(store.db, await run())).toMatchObject({ unfinalBlock: null })
})

it('a lost transaction counts with the most that any of its signings can pay, and leaves nothing to wait for', async () => {
  await limit(10n * ONE)
  const [first, raised] = [await signed(2000n, 300n), await signed(2000n, 400n)]
  await addTransaction(raised, 'lost')
  const attempt = { transaction_id: 't-lost', max_priority_fee_per_gas: '1', created_at: NOW, cancels: 0 }
  await insertAttempts(store.db, [
    { ...attempt, number: 0, raw: first, hash: '0x0', max_fee_per_gas: '300' },
    { ...attempt, number: 1, raw: raised, hash: '0x1', max_fee_per_gas: '400' },
  ])
  const available = 10n * ONE - 800_000n
  expect(await readRunBudget(store.db, await run(), CURRENT)).toMatchObject({ paid: 800_000n, pending: 0n, available })
})

it('a pending transaction counts with the fee for its data', async () => {
  await limit(10n * ONE)
  const raw = await signed(2000n, 300n)
  await addTransaction(raw, 'signed')
  const { pending } = await readRunBudget(store.db, await run(), WITH_DATA_FEE)
  expect(pending).toBe(600_000n + PER_BYTE * BigInt(raw.length / 2))
})

it('a batch pays for its data from the limit', async () => {
  const bytes = ENVELOPE_BYTES + 100
  await limit(2n * ONE + PER_BYTE * BigInt(bytes), bytes / 2)
  await addNfts(2)
  const fees = async (length: number) =>
    await computeFeesWithinLimits(
      store.db,
      await run(),
      { ...batch(2), data: `0x${'00'.repeat(length)}` },
      FEES,
      WITH_DATA_FEE,
    )
  // The prefix of the hexadecimal text counts as a byte.
  expect(await fees(99)).toBe(FEES)
  expect(await fees(100)).toMatchObject({ maxFeePerGas: OFFERED - 1n })
})

it('a pending transaction that was cancelled counts with the signing that costs most, and once', async () => {
  await limit(10n * ONE)
  await addNfts(3)
  const [first, empty] = [await signed(2000n, 300n), await signed(21n, 400n)]
  await addTransaction(empty, 'signed')
  const attempt = { transaction_id: 't-signed', max_priority_fee_per_gas: '1', created_at: NOW }
  await insertAttempts(store.db, [
    { ...attempt, number: 0, raw: first, hash: '0x0', max_fee_per_gas: '300', cancels: 0 },
    { ...attempt, number: 1, raw: empty, hash: '0x1', max_fee_per_gas: '400', cancels: 1 },
  ])
  expect(await readRunBudget(store.db, await run(), CURRENT)).toMatchObject({ pending: 600_000n, unsigned: 2 })
  await store.db
    .updateTable('transactions')
    .set({ state: 'cancelled', fee_paid: '70' } as never)
    .execute()
  expect(await readRunBudget(store.db, await run(), CURRENT)).toMatchObject({ pending: 0n, paid: 70n })
})

it('a stuck transaction gets higher fees only as far as the limit allows', async () => {
  await limit(10n * ONE)
  const raw = await signed(2000n, 300n)
  await addTransaction(raw, 'signed')
  const transaction = { run: 'run', run_collection_id: 'c' }
  const may = async (by: Promise<Hex>, of: { run: string | null } = transaction) =>
    await mayReplace(store.db, of.run === null ? null : CURRENT, { ...transaction, ...of }, [raw], await by)
  expect(await may(signed(2000n, 500n))).toBe(true)
  expect(await may(signed(2000n, 501n))).toBe(false)
  expect(await may(signed(2000n, 900n), { run: null })).toBe(true)
  // Fees have risen since NFTs were accepted: they wait, what is signed does not.
  await addNfts(20)
  expect(await may(signed(2000n, 500n))).toBe(true)
  // What costs no more than before is within any limit.
  await limit(ONE)
  expect(await may(signed(2000n, 300n))).toBe(true)
  expect(await may(signed(2000n, 301n))).toBe(false)
})

it('the most that a replacement can cost includes what other pending transactions of its run leave', async () => {
  const chain = { blockchain: 'polygon', network: 'remote', genesis_timestamp: 0, factory_address: ALICE } as const
  await recordChain(store.db, { ...chain, created_at: NOW })
  const other = await signed(2000n, 300n)
  await addTransaction(other, 'signed', { id: 'other', nonce: 1, hash: '0x1', start_id: '2' })
  const raw = await signed(2000n, 300n)
  await addTransaction(raw, 'signed')
  await limit(1_200_000n)
  const row = await store.db
    .selectFrom('transactions')
    .selectAll()
    .where('id', '=', 't-signed')
    .executeTakeFirstOrThrow()
  const cost = await replacementCost(store, row, 'bump', { cap: null, current: null })
  expect(cost).toMatchObject({ before: 600_000n, limitedBy: 'the limit of its run' })
  const final = { state: 'final', gas_used: '2000', fee_paid: '2000' } as const
  await stateDb(store.db).updateTable('transactions').set(final).where('id', '=', 'other').execute()
  const most = 1_198_000n / 2000n
  expect(await mayReplace(store.db, CURRENT, row, [raw], await signed(2000n, most + 1n))).toBe(false)
  expect(await mayReplace(store.db, CURRENT, row, [raw], await signed(2000n, most))).toBe(true)
  expect(2000n * most).toBeLessThanOrEqual(cost?.after ?? 0n)
})
