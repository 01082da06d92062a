import { afterEach, beforeEach, expect, it } from 'vitest'
import { budgetOf } from '../../../src/server/chain/evm/cost/run-budget.ts'
import { hasMaxCost } from '../../../src/server/chain/fees.ts'
import { chainFacts } from '../../../src/server/pipeline/chain-facts.ts'
import { reserveCost } from '../../../src/server/services/limit-cost.ts'
import { limitedRuns } from '../../../src/server/store/run-costs.ts'
import { type StoreWithRun, storeWithRun } from '../../helpers/store-with-run.ts'

/** On a network that charges for data, too. */
const FEES = { offered: 100n, data: { bytes: 1, fee: 10n, gas: 0n } }

let place: StoreWithRun
beforeEach(async () => {
  place = await storeWithRun()
})
afterEach(() => place?.remove())

/** Accepts rows of a request for one receiver. */
async function accept(count: number, wei: bigint): Promise<void> {
  const { gas } = chainFacts({ remote: new Map() } as never, 'polygon')
  if (gas === undefined) throw new Error('polygon has no gas')
  const check = { maxCost: { wei, isSet: false }, gas, fees: FEES, coin: 'POL' }
  const rows = { accountId: 'a', run: 'run', count, isGrant: false, isDynamic: false }
  await place.store.transaction((db) => reserveCost(db, check, rows))
  await place.addNfts(count)
}

async function reserved(): Promise<bigint> {
  const [run] = await limitedRuns(place.store.db, 'c')
  if (run === undefined || !hasMaxCost(run)) throw new Error('the run has no limit')
  return (await budgetOf(place.store.db, run, FEES)).reserved
}

it('reserves for each NFT what the most expensive one of the run may cost, in either order', async () => {
  const plenty = 10n ** 18n
  await accept(1, plenty)
  const one = await reserved()
  await accept(100, plenty)
  expect(await reserved()).toBe(101n * one)
  await place.remove()
  place = await storeWithRun()
  await accept(100, plenty)
  expect(await reserved()).toBeLessThan(100n * one)
  await accept(1, plenty)
  expect(await reserved()).toBe(101n * one)
})

it('accepts no row that does not fit beside the earlier ones of the run', async () => {
  await accept(1, 10n ** 18n)
  const one = await reserved()
  await accept(1, 2n * one)
  await expect(accept(1, 2n * one)).rejects.toMatchObject({ status: 409 })
  expect(await reserved()).toBe(2n * one)
})
