import { expect, it } from 'vitest'
import {
  explainFeeWait,
  isTooExpensive,
  limitFee,
  limitFees,
} from '../../../../../src/server/chain/evm/cost/run-fee.ts'
import { GWEI } from '../../../../helpers/gwei.ts'

/** The next two blocks need up to 18 gwei. */
const CURRENT = { base: 16n * GWEI }

it('a run waits while the next blocks may need more than it offers', () => {
  expect(isTooExpensive(String(18n * GWEI), CURRENT)).toBe(false)
  expect(isTooExpensive(String(18n * GWEI - 1n), CURRENT)).toBe(true)
  expect(isTooExpensive(null, CURRENT)).toBe(false)
})

it('only a run that waits says why', () => {
  expect(explainFeeWait(String(10n * GWEI), CURRENT)).toBe(
    "waiting for lower fees: the next blocks need up to 18 gwei, but the run offers at most 10 gwei; repeat the run's command with --max-fee-gwei 24.001 or more to raise the limit",
  )
  expect(explainFeeWait(String(18n * GWEI), CURRENT)).toBeNull()
  expect(explainFeeWait(null, CURRENT)).toBeNull()
})

it('a fee is never above the limit of the run', () => {
  expect(limitFee(20n, '18')).toBe(18n)
  expect(limitFee(17n, '18')).toBe(17n)
  expect(limitFee(20n, null)).toBe(20n)
  const fees = { maxFeePerGas: 20n, maxPriorityFeePerGas: 19n, other: 1 }
  expect(limitFees(fees, '18')).toEqual({ maxFeePerGas: 18n, maxPriorityFeePerGas: 18n, other: 1 })
  expect(limitFees(fees, null)).toBe(fees)
})
