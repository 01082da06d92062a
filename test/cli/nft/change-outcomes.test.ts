import { describe, expect, test } from 'vitest'
import {
  type ChangeOutcomes,
  changesError,
  createChangeOutcomes,
  toSummaryRecord,
} from '../../../src/cli/plan/change-nfts.ts'

const COUNTS = { update: 5, transfer: 4, burn: 1 }
const problem = { key: 'a', line: 2, reason: 'the response was lost' }

const outcomesOf = (update: Partial<ChangeOutcomes['update']>): ChangeOutcomes => {
  const none = createChangeOutcomes()
  return { ...none, update: { ...none.update, ...update } }
}

describe('the outcome of an interrupted plan', () => {
  test.each<[string, Partial<ChangeOutcomes['update']>, string, number]>([
    ['pending', { done: 1, pending: 4 }, 'Not sent yet: 4 transfers and 1 burn.', 9],
    ['pending', { done: 1, pending: 2, unsent: true }, 'Not sent yet: 2 updates and 4 transfers and 1 burn.', 9],
    ['pending', { unsent: true }, 'Not sent yet: 5 updates and 4 transfers and 1 burn.', 10],
    [
      'unknown_outcome',
      { done: 3, unknown: { count: 2, first: [problem] } },
      'Not sent yet: 4 transfers and 1 burn.',
      5,
    ],
  ])('names the changes that were not sent, and counts them as pending: %s, %o', (code, update, hint, pending) => {
    const outcomes = outcomesOf(update)
    expect(changesError(COUNTS, outcomes)).toMatchObject({
      code,
      hint: expect.stringMatching(new RegExp(`^${hint}\n`)),
    })
    expect(toSummaryRecord(COUNTS, outcomes)).toMatchObject({ pending })
  })

  test('names no other changes if all were sent', () => {
    const outcomes = outcomesOf({ done: 1, pending: 4 })
    const counts = { update: 5, transfer: 0, burn: 0 }
    expect(changesError(counts, outcomes)?.hint).toBe('Run the same command again to resume the changes in progress.')
    expect(toSummaryRecord(counts, outcomes)).toMatchObject({ updated: 1, pending: 4 })
  })
})
