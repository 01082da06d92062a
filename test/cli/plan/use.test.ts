import { expect, test } from 'vitest'
import { estimatePlanReservation } from '../../../src/cli/plan/plan-use.ts'
import type { ChangePlan } from '../../../src/plan/planned.ts'

const ADDRESS = '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB'

/** A plan that mints an NFT to each receiver. */
function mintsTo(receivers: readonly string[], inOrder: boolean): ChangePlan {
  const plan = {
    run: { dynamic: false, chunkSize: 10, inOrder },
    async *rows() {
      for (const receiver of receivers)
        yield { row: { row: { receiver, sender: null } }, changes: [{ action: 'mint' }] }
    },
    async *burns() {},
  }
  return plan as unknown as ChangePlan
}

test.each([true, false])('counts the spellings of an address as one receiver, with --in-order %s', async (inOrder) => {
  const one = await estimatePlanReservation(mintsTo([ADDRESS, ADDRESS], inOrder), {})
  expect(await estimatePlanReservation(mintsTo([ADDRESS, ADDRESS.toLowerCase()], inOrder), {})).toEqual(one)
  const other = await estimatePlanReservation(mintsTo([ADDRESS, `${ADDRESS.slice(0, -1)}C`], inOrder), {})
  expect(other.each.gasLimit).toBeGreaterThan(one.each.gasLimit)
})
