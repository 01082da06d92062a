import { expect, it } from 'vitest'
import { shareInFlight } from '../../src/core/share-in-flight.ts'

it('who calls while a call is under way gets what comes of it, and the next call is made anew, whatever came of it', async () => {
  let calls = 0
  const outcomes = [Promise.resolve('first'), Promise.reject(new Error('second')), Promise.resolve('third')]
  const ask = shareInFlight(async () => await outcomes[calls++])
  expect(await Promise.all([ask(), ask(), ask()])).toEqual(['first', 'first', 'first'])
  const failed = await Promise.allSettled([ask(), ask()])
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await ask()).toBe('third')
  expect(calls).toBe(3)
})
