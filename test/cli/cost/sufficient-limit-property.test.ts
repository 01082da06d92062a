/** @module-tag slow */
import { afterEach, expect, test } from 'vitest'
import { estimateSufficientLimit } from '../../../src/cli/cost/run-limit.ts'
import type { RunCosts } from '../../../src/client/run-costs.ts'
import { DropMeter } from '../../../src/server/chain/evm/cost/drop-gas.ts'
import { readRunBudget } from '../../../src/server/chain/evm/cost/run-budget.ts'
import { hasMaxCost, type NetworkFees } from '../../../src/server/chain/fees.ts'
import { chainFacts } from '../../../src/server/pipeline/chain-facts.ts'
import { reserveCost } from '../../../src/server/services/limit-cost.ts'
import { Refusal } from '../../../src/server/services/refusals.ts'
import { limitedRuns } from '../../../src/server/store/run-costs.ts'
import { report, seededRandom } from '../../helpers/seed.ts'
import { type StoreWithRun, storeWithRun } from '../../helpers/store-with-run.ts'

const RUNS = process.env.GDN_SOAK === '1' ? 200 : 8
const RESUMES = 5
const NO_CHANGES = { gasLimit: 0n, bytes: 0 }

let place: StoreWithRun
afterEach(() => place?.remove())

/** A request for one receiver. With a sender, its NFTs are granted. */
interface Mint {
  count: number
  sender: string | null
}

/** Accepts requests with this limit, in order. Returns those that are left when the server refuses one. */
async function accept(requests: readonly Mint[], wei: bigint, fees: NetworkFees, isDynamic: boolean): Promise<Mint[]> {
  const { gas } = chainFacts({ remote: new Map() } as never, 'polygon')
  if (gas === undefined) throw new Error('polygon has no gas')
  const check = { maxCost: { wei, isSet: true }, gas, fees, coin: 'POL' }
  for (const [index, { count, sender }] of requests.entries()) {
    const rows = { accountId: 'a', run: 'run', count, isGrant: sender !== null, isDynamic }
    try {
      await place.store.transaction((db) => reserveCost(db, check, rows))
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return requests.slice(index)
    }
    await place.addNfts(count)
  }
  return []
}

/** The costs of the run as getruncosts returns them. */
async function costs(fees: NetworkFees): Promise<RunCosts | null> {
  const [run] = await limitedRuns(place.store.db, 'c')
  if (run === undefined || !hasMaxCost(run)) return null
  const { max, available, unsigned } = await readRunBudget(place.store.db, run, fees)
  return {
    ...{ blockchain: 'polygon', is_simulated: false, currency: 'POL', gas_used: '0', fee_paid: '0', waiting: null },
    ...{ max_fee: null, max_cost: run.max_cost, counted: String(max - available) },
    ...{ unsigned_nfts: unsigned, nft_gas: run.nft_gas, nft_bytes: run.nft_bytes },
  }
}

test('the limit that is named suffices for the rest of a run to the wei, after resumes with requests of any sizes', async () => {
  const { random } = seededRandom('limits that suffice')
  const below = (most: number) => Math.floor(random() * most)
  let refused = 0
  for (let run = 0; run < RUNS; run++) {
    place = await storeWithRun()
    const price = BigInt(1 + below(1000))
    const data = { bytes: 1 + below(300), fee: BigInt(below(1000)), gas: BigInt(below(300)) }
    const fees = { offered: price, typical: price, low: price, high: price, data }
    const isDynamic = random() < 0.5
    const canGrant = random() < 0.5
    for (let resume = 0; resume < RESUMES; resume++) {
      const chunkSize = 1 + below(random() < 0.3 ? 200 : 60)
      const requests = Array.from({ length: 1 + below(5) }, () => {
        const count = random() < 0.7 ? chunkSize : 1 + below(chunkSize)
        return { count, sender: canGrant && random() < 0.5 ? 'x' : null }
      })
      const meter = new DropMeter(isDynamic, chunkSize)
      for (const { count, sender } of requests) meter.add('x', count, sender)
      const reserved = { ...meter.total().reserved, changes: NO_CHANGES }
      const enough = await estimateSufficientLimit(reserved, fees, { costs: await costs(fees), maxFee: null })
      const left = await accept(requests, enough - 1n, fees, isDynamic)
      expect(left, 'one wei less is not enough').not.toEqual([])
      refused += left.length
      // A resumed run may send only a part of its rows.
      const sent = resume < RESUMES - 1 && random() < 0.5 ? left.slice(0, below(left.length)) : left
      expect(await accept(sent, enough, fees, isDynamic)).toEqual([])
    }
    await place.remove()
  }
  report(`  ${RUNS} runs with ${RESUMES} resumes, ${refused} requests refused first`)
})
