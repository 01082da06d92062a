import { expect, test } from 'vitest'
import { createChangeOutcomes, describeStoppedChanges } from '../../../src/cli/plan/change-nfts.ts'
import { GdnError } from '../../../src/core/errors.ts'

const AGAIN = '\nRun `gdn apply drop.csv` to resume.'

test.each([
  { all: 1, minted: null, done: 0, pending: 0, hint: 'No change was made.' },
  { all: 1, minted: 0, done: 0, pending: 0, hint: 'No change is known to have been made.' },
  { all: 9, minted: 0, done: 0, pending: 1, hint: 'No change is known to have been made, and 1 is in progress.' },
  { all: 1, minted: 0, done: 1, pending: 0, hint: 'At least 1 of 1 change was made.' },
  { all: 9, minted: 1, done: 2, pending: 4, hint: 'At least 3 of 9 changes were made, and 4 are in progress.' },
])('says after an interruption: $hint', ({ all, minted, done, pending, hint }) => {
  const outcomes = createChangeOutcomes()
  Object.assign(outcomes.update, { done, pending })
  const error = new GdnError('interrupted', 'interrupted')
  expect(describeStoppedChanges(error, outcomes, { all, minted, again: 'gdn apply drop.csv' })).toMatchObject({
    hint: `${hint}${AGAIN}`,
    details: { changes: all, made: done + (minted ?? 0), in_progress: pending },
  })
})
