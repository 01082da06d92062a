import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { computeMaxChangeGas } from '../../../../../src/server/chain/evm/cost/change-gas.ts'
import { DropMeter } from '../../../../../src/server/chain/evm/cost/drop-gas.ts'
import { computeFunding, computeMintFunds, computeReserve } from '../../../../../src/server/chain/evm/cost/funding.ts'
import { computeMaxCost } from '../../../../../src/server/chain/evm/cost/network-fees.ts'

const FEES = { offered: 10n ** 9n, data: { bytes: 1, fee: 0n, gas: 0n } }

test('the funds of waiting NFTs, with the reserve of a smaller change, cover all of them together', () => {
  const mint = fc.record({
    sender: fc.constantFrom(null, '0x'),
    dynamic: fc.constantFrom(0, 1),
    count: fc.integer({ min: 1, max: 60 }),
  })
  const change = fc.constantFrom('transfer', 'update', 'burn', 'provenance')
  fc.assert(
    fc.property(fc.array(mint, { minLength: 1, maxLength: 4 }), change, (mints, kind) => {
      const waiting = computeMintFunds(mints, FEES)
      const next = computeMaxChangeGas({ kind, tokenIds: kind === 'update' ? [1n] : [] })
      const named = waiting.wei - waiting.reserve + computeMaxCost(next, FEES) + computeReserve(next.gasLimit, FEES)
      const worst = mints.map(({ sender, dynamic, count }) => {
        const meter = new DropMeter(dynamic === 1)
        meter.add('0x', count, sender)
        return meter.total().worst
      })
      const gasLimit = worst.reduce((sum, one) => sum + one.gasLimit, next.gasLimit)
      // The last transaction is only signed with the whole reserve.
      expect(named).toBe(computeFunding({ gasLimit, bytes: 0, smallestMint: next.gasLimit }, FEES))
    }),
  )
})
