import { expect, test } from 'vitest'
import { firstChanges, planLines, printPlanNotes } from '../../src/cli/commands/plan/plan-view.ts'
import { PLAIN } from '../../src/cli/io/paint.ts'
import type { Action } from '../../src/plan/compare.ts'
import type { PlanCounts, PlannedChange } from '../../src/plan/planned.ts'
import { OWNER } from './fake-api.ts'

const NO_COUNTS: PlanCounts = {
  ...{ rows: 0, unchanged: 0, mint: 0, update: 0, transfer: 0, burn: 0, drift: 0, impossible: 0 },
  ...{ burned: 0, retries: 0, vanished: 0 },
}

/** A plan with as many changes of each action, in the order of the manifest. */
function planOf(actions: Partial<Record<Action, number>>) {
  const made = (action: Action) =>
    Array.from({ length: actions[action] ?? 0 }, (_, n): PlannedChange => {
      const nft = { nftGdnId: null, tokenId: null, revision: null, transfers: null, reference: null }
      const line = action === 'burn' ? null : n + 2
      return { ...nft, action, want: 'mint', key: 'k', line, title: `T${n}`, fields: [], reason: null }
    })
  async function* changes() {
    for (const action of ['update', 'mint', 'transfer', 'drift', 'impossible', 'burn'] as const) yield* made(action)
  }
  async function* burns() {
    yield* made('burn')
  }
  return { counts: { ...NO_COUNTS, ...actions }, notes: [], changes, burns }
}

async function shown(actions: Partial<Record<Action, number>>) {
  const plan = planOf(actions)
  const counts: [Action, number][] = []
  for await (const { action } of firstChanges(plan)) {
    const last = counts.at(-1)
    if (last?.[0] === action) last[1]++
    else counts.push([action, 1])
  }
  const notes: string[] = []
  printPlanNotes({ note: (text) => notes.push(text) }, plan, 'See all.')
  return { counts, note: notes.find((text) => text.startsWith('And ')) }
}

test('shows all burns and transfers before the first updates and mints', async () => {
  expect(await shown({ update: 98, transfer: 30, burn: 30 })).toEqual({
    counts: [
      ['burn', 30],
      ['transfer', 30],
      ['update', 50],
    ],
    note: 'And 48 more changes. See all.',
  })
})

test('shows changes that prevent all others first', async () => {
  expect(await shown({ impossible: 3, update: 98, transfer: 1 })).toEqual({
    counts: [
      ['impossible', 3],
      ['transfer', 1],
      ['update', 47],
    ],
    note: 'And 51 more changes. See all.',
  })
})

test('counts the burns and transfers that it does not show', async () => {
  expect(await shown({ transfer: 600, burn: 450, mint: 2 })).toEqual({
    counts: [
      ['burn', 450],
      ['transfer', 50],
      ['mint', 2],
    ],
    note: 'And 550 more changes, among them 550 to transfer. See all.',
  })
})

test('has no note where all changes are shown', async () => {
  expect((await shown({ transfer: 60, mint: 50 })).note).toBeUndefined()
})

test('shows the receiver of a mint, on a line of its own if both do not fit', async () => {
  const lines = async (title: string) => {
    const plan = planOf({ mint: 1 })
    const changes = async function* () {
      for await (const change of plan.changes()) yield { ...change, title, receiver: OWNER }
    }
    return await planLines({ ...plan, changes }, { columns: 80, paint: PLAIN })
  }
  expect(await lines('Dawn')).toEqual([`mint line 2: Dawn → ${OWNER}`])
  const long = 'A title that is far longer'
  expect(await lines(long)).toEqual([`mint line 2: ${long}`, `    → ${OWNER}`])
})
