import { expect, it } from 'vitest'
import { shareInFlight } from '../../src/core/share-in-flight.ts'

it('shares one call among concurrent callers, and makes a new call afterwards, also after an error', async () => {
  let calls = 0
  const outcomes = [Promise.resolve('first'), Promise.reject(new Error('second')), Promise.resolve('third')]
  const ask = shareInFlight(async () => await outcomes[calls++])
  expect(await Promise.all([ask(), ask(), ask()])).toEqual(['first', 'first', 'first'])
  const failed = await Promise.allSettled([ask(), ask()])
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await ask()).toBe('third')
  expect(calls).toBe(3)
})
