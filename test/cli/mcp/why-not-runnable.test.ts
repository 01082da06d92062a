import { expect, test } from 'vitest'
import type { Tool } from '../../../src/cli/mcp/tools.ts'
import { whyNotRunnable } from '../../../src/cli/mcp/why-not-runnable.ts'

const apply = { command: 'apply' } as Tool
const outcomeOf = (actions: readonly string[]) => ({
  code: 0,
  data: actions.map((action) => ({ action })),
  error: null,
})

test.each([
  [[], {}, 'Nothing differs from the manifest, so there is nothing to do.'],
  [['note'], {}, 'Nothing differs from the manifest, so there is nothing to do.'],
  [['drift'], {}, 'There is nothing to do.'],
  [
    ['impossible'],
    {},
    'Nothing was changed, because apply makes no changes if one of them is impossible. Resolve the problems, and plan again.',
  ],
  [
    ['impossible', 'mint', 'update'],
    { max_cost: '5POL' },
    'Nothing was changed, because apply makes no changes if one of them is impossible. Resolve the problems, and plan again. To mint only the new rows, pass "only": "mint".',
  ],
  [
    ['burn', 'mint', 'burn'],
    { max_burns: 1 },
    'Nothing was changed. The plan burns 2 NFTs permanently, but max_burns permits only 1. Ask the user first, and plan again with max_burns 2.',
  ],
  [['update', 'impossible'], { only: 'mint' }, 'There are no rows to mint, so there is nothing to do.'],
])('a plan of apply with %j and %j has no ID, and says why', (actions, values, reason) => {
  expect(whyNotRunnable(apply, values, outcomeOf(actions), false)).toBe(reason)
})

test.each([
  [['mint'], {}],
  [['update', 'drift'], {}],
  [['impossible', 'mint'], { only: 'mint' }],
  [['burn', 'mint'], { max_burns: 1 }],
  [['burn', 'mint'], { only: 'mint' }],
  [[], { max_cost: '5POL' }],
])('a plan of apply with %j and %j can be run', (actions, values) => {
  expect(whyNotRunnable(apply, values, outcomeOf(actions), false)).toBe(null)
})

const FINISHED = { run: 'drop', to_send: 0, order: 'Nothing is left to send' }

test.each([
  ['batch mint', FINISHED, {}, 'The run is finished, so there is nothing to do.'],
  ['batch resume', FINISHED, {}, 'The run is finished, so there is nothing to do.'],
  ['batch retry', FINISHED, {}, 'There are no rows to retry, so there is nothing to do.'],
  ['batch mint', FINISHED, { verify: true }, null],
  ['batch mint', { ...FINISHED, order: 'Requests are sent in any order' }, {}, null],
])('a plan of %s with %j and %j gives the reason %j', (command, data, values, reason) => {
  expect(whyNotRunnable({ command } as Tool, values, { code: 0, data, error: null }, false)).toBe(reason)
})
