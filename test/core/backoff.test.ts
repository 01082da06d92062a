import { describe, expect, it } from 'vitest'
import { backoffMs } from '../../src/core/backoff.ts'

describe('backoffMs', () => {
  it('doubles from a second up to a minute', () => {
    const middle = () => 0.5
    expect([1, 2, 3, 6, 7, 50].map((attempts) => backoffMs(attempts, undefined, middle))).toEqual([
      1000, 2000, 4000, 32_000, 60_000, 60_000,
    ])
  })

  it('uses the first and longest delay of the caller', () => {
    const waits = { firstMs: 250, maxMs: 8000, jitter: 0 }
    expect([1, 2, 6, 50, 5000].map((failures) => backoffMs(failures, waits))).toEqual([250, 500, 8000, 8000, 8000])
  })

  it('adds jitter of up to a quarter in both directions', () => {
    expect([0, 1].map((random) => backoffMs(1, undefined, () => random))).toEqual([750, 1250])
  })
})
