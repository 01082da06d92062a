import { afterEach, beforeEach, expect, it } from 'vitest'
import { HEADERS } from '../../../src/api/headers.ts'
import { readRunBudget } from '../../../src/server/chain/evm/cost/run-budget.ts'
import { hasMaxCost } from '../../../src/server/chain/fees.ts'
import { chainFacts } from '../../../src/server/pipeline/chain-facts.ts'
import { reserveCost } from '../../../src/server/services/limit-cost.ts'
import type { Refusal } from '../../../src/server/services/refusals.ts'
import { limitedRuns } from '../../../src/server/store/run-costs.ts'
import { type StoreWithRun, storeWithRun } from '../../helpers/store-with-run.ts'

/** On a network that charges for data, too. */
const FEES = { low: 50n, typical: 50n, high: 50n, offered: 100n, data: { bytes: 1, fee: 10n, gas: 0n } }

let place: StoreWithRun
beforeEach(async () => {
  place = await storeWithRun()
})
afterEach(() => place?.remove())

/** Accepts rows of a request for one receiver. */
async function accept(count: number, wei: bigint, fees = FEES): Promise<void> {
  const { gas } = chainFacts({ remote: new Map() } as never, 'polygon')
  if (gas === undefined) throw new Error('polygon has no gas')
  const check = { maxCost: { wei, isSet: false }, gas, fees, coin: 'POL' }
  const rows = { accountId: 'a', run: 'run', count, isGrant: false, isDynamic: false }
  await place.store.transaction((db) => reserveCost(db, check, rows))
  await place.addNfts(count)
}

async function reserved(): Promise<bigint> {
  const [run] = await limitedRuns(place.store.db, 'c')
  if (run === undefined || !hasMaxCost(run)) throw new Error('the run has no limit')
  return (await readRunBudget(place.store.db, run, FEES)).reserved
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

it('asks to retry while a request fits at the fees of recent blocks, and not if it fits at no fees', async () => {
  await accept(1, 10n ** 18n)
  const limit = 2n * (await reserved())
  const retryAfter = async (fees: typeof FEES, wei = limit) => {
    await place.remove()
    place = await storeWithRun()
    const refusal = await accept(1, wei, fees).catch((error: unknown) => error)
    expect(refusal).toMatchObject({ status: 409 })
    return (refusal as Refusal).headers[HEADERS.retryAfter]
  }
  const atPrice = (low: bigint, typical: bigint) => ({ ...FEES, low, typical, high: typical, offered: 2n * typical })
  expect(await retryAfter(atPrice(50n, 500n))).toBe('5')
  expect(await retryAfter(atPrice(50n, 500n), 10n)).toBeUndefined()
  // All recent blocks were that expensive.
  expect(await retryAfter(atPrice(500n, 500n))).toBeUndefined()
  expect(await retryAfter(atPrice(300n, 500n))).toBeUndefined()
})
