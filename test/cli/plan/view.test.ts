import { expect, test } from 'vitest'
import { PLAIN_PAINT } from '../../../src/cli/io/paint.ts'
import {
  collectImpossibleChanges,
  formatHint,
  impossibleChangesText,
} from '../../../src/cli/plan/impossible-changes.ts'
import { changedPlanError } from '../../../src/cli/plan/open-source.ts'
import { planMarkdown } from '../../../src/cli/plan/plan-markdown.ts'
import {
  appliedText,
  countsText,
  firstChanges,
  formatOnlyMintCommand,
  planLines,
  printPlanNotes,
  summaryText,
} from '../../../src/cli/plan/plan-view.ts'
import { type Action, type NftChange, NOT_DYNAMIC_REASON } from '../../../src/plan/compare.ts'
import { ID_ADDED_REASON } from '../../../src/plan/mint-changes.ts'
import type { ChangePlan, PlanCounts, PlannedChange } from '../../../src/plan/planned.ts'
import { OWNER } from '../fake-api.ts'

const NO_COUNTS: PlanCounts = {
  ...{ rows: 0, unchanged: 0, mint: 0, update: 0, transfer: 0, burn: 0, drift: 0, impossible: 0, identified: 0 },
  ...{ abandoned: 0, lasting: 0, keptBurns: 0, impossibleBurns: 0, retries: 0, vanished: 0 },
}

const NONE = { all: [], folded: new Map(), areEdits: false }
const OPTIONS = { allText: null, onlyMint: '' }

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

const linesOf = async (plan: ReturnType<typeof planOf>) =>
  await planLines(plan, await collectImpossibleChanges(plan), { columns: 80, paint: PLAIN_PAINT })

async function shown(actions: Partial<Record<Action, number>>) {
  const plan = planOf(actions)
  const counts: [Action, number][] = []
  const obstacles = await collectImpossibleChanges(plan)
  for await (const { action } of firstChanges(plan, obstacles)) {
    const last = counts.at(-1)
    if (last?.[0] === action) last[1]++
    else counts.push([action, 1])
  }
  const notes: string[] = []
  printPlanNotes({ note: (text) => notes.push(text) }, plan, obstacles, { allText: 'See all.', onlyMint: '' })
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

test('says how many rows have two changes', () => {
  const summary = (counts: Partial<PlanCounts>) => {
    const notes: string[] = []
    printPlanNotes(
      { note: (text) => notes.push(text) },
      { counts: { ...NO_COUNTS, ...counts }, notes: [] },
      NONE,
      OPTIONS,
    )
    return notes.at(-1)
  }
  expect(summary({ rows: 2, transfer: 1, update: 2 })).toBe(
    '2 rows: 1 to transfer, 2 to update (1 row has two changes).',
  )
  expect(summary({ rows: 3, transfer: 1, update: 2 })).toBe('3 rows: 1 to transfer, 2 to update.')
})

test('counts removed rows apart from the rows of the manifest, also in Markdown', async () => {
  const counts = { ...NO_COUNTS, rows: 302, unchanged: 300, drift: 3, impossible: 1, burn: 1 }
  const removed = { ...counts, keptBurns: 1, impossibleBurns: 1 }
  expect(summaryText(removed)).toBe('302 rows: 2 drift, 300 unchanged. Removed rows: 1 to burn, 1 drift, 1 impossible.')
  expect(summaryText(NO_COUNTS)).toBe('0 rows: none.')
  const markdown = await planMarkdown('drop.csv', { ...planOf({}), counts: removed } as unknown as ChangePlan, NONE)
  for (const [what, n] of [
    ['drift (kept)', 2],
    ['impossible', 0],
    ['burn', 1],
    ['removed row (drift, kept)', 1],
    ['removed row (impossible to burn)', 1],
  ]) {
    expect(markdown).toContain(`\n| ${what} | ${n} |\n`)
  }
})

test.each([
  [{ mint: 1 }, undefined, 'gdn apply d --only mint'],
  [{ mint: 1, vanished: 1 }, undefined, 'gdn apply d --new-rows --only mint'],
  [{ mint: 1, vanished: 1 }, true, 'gdn apply d --only mint'],
  [{ mint: 1, retries: 1, vanished: 1 }, undefined, 'gdn apply d --only mint'],
])('names the command that makes only the mints, with the flag that it needs: %j', (counts, newRows, command) => {
  const plan = { counts: { ...NO_COUNTS, ...counts }, otherEdition: null }
  expect(formatOnlyMintCommand('gdn apply d', plan, newRows)).toBe(command)
  expect(formatOnlyMintCommand('gdn apply d', { ...plan, otherEdition: 'other' }, newRows)).toBe(null)
})

test('counts the burns and transfers that it does not show', async () => {
  expect(await shown({ transfer: 600, burn: 450, mint: 2 })).toEqual({
    counts: [
      ['burn', 450],
      ['transfer', 50],
      ['mint', 2],
    ],
    note: 'And 550 more changes, including 550 to transfer. See all.',
  })
})

test('has no note where all changes are shown', async () => {
  expect((await shown({ transfer: 60, mint: 50 })).note).toBeUndefined()
})

test('names the row of a burn, which has no line', async () => {
  const lines = await planLines(planOf({ burn: 1, drift: 1 }), NONE, { columns: 80, paint: PLAIN_PAINT })
  expect(lines).toEqual(['burn row k: T0', 'drift line 2: T0'])
})

test('shows the receiver of a mint, on a line of its own if both do not fit', async () => {
  const lines = async (title: string) => {
    const plan = planOf({ mint: 1 })
    const changes = async function* () {
      for await (const change of plan.changes()) yield { ...change, title, receiver: OWNER }
    }
    return await planLines({ ...plan, changes }, NONE, { columns: 80, paint: PLAIN_PAINT })
  }
  expect(await lines('Dawn')).toEqual([`mint line 2: Dawn → ${OWNER}`])
  const long = 'A title that is far longer'
  expect(await lines(long)).toEqual([`mint line 2: ${long}`, `    → ${OWNER}`])
})

test.each([
  [
    { burn: 1, transfer: 1, update: 2, mint: 2, unchanged: 9 },
    'Permanently burn 1 NFT, and apply 5 other changes (1 to transfer, 2 to update, 2 to mint)',
  ],
  [{ burn: 2, mint: 1 }, 'Permanently burn 2 NFTs, and apply 1 other change (1 to mint)'],
  [{ burn: 3, unchanged: 2 }, 'Permanently burn 3 NFTs'],
  [{ mint: 1, update: 1, drift: 4 }, 'Apply 2 changes (1 to update, 1 to mint)'],
])('a prompt names burns first, each change once, and nothing that stays: %j', (counts, text) => {
  expect(appliedText({ ...NO_COUNTS, ...counts })).toBe(text)
})

test('the counts of a plan have burns and transfers first', () => {
  const counts = { ...NO_COUNTS, mint: 1, update: 2, transfer: 3, burn: 4, unchanged: 5 }
  expect(countsText(counts)).toBe('4 to burn, 3 to transfer, 2 to update, 1 to mint, 5 unchanged')
})

test('shows rows whose NFTs got IDs elsewhere as one change, with their number and the first of them', async () => {
  const rows = (n: number, todo?: string) => {
    const plan = planOf({ impossible: n, mint: 1 })
    async function* changes() {
      for await (const change of plan.changes()) {
        const reason = `${ID_ADDED_REASON}${todo ?? `: add id=${change.line}`} to the row, or mint the row with another ID`
        yield change.action === 'mint' ? change : { ...change, reason }
      }
    }
    return { ...plan, counts: { ...plan.counts, identified: n }, changes }
  }
  expect(await linesOf(rows(300))).toEqual([
    'impossible: 300 rows lack the IDs of their NFTs',
    ...[2, 3, 4, 5, 6].map((n) => `    line ${n}: add id=${n}`),
    '    and 295 more',
    'mint line 2: T0',
  ])
  // Where gdn doesn't know the ID.
  expect((await linesOf(rows(300, ' on another machine: add that ID')))[1]).toBe('    line 2: T0')
  const notes: string[] = []
  const plan = rows(300)
  const obstacles = await collectImpossibleChanges(plan)
  printPlanNotes({ note: (text) => notes.push(text) }, plan, obstacles, { allText: 'See all.', onlyMint: '' })
  expect(notes.filter((text) => text.startsWith('And '))).toEqual([])
  expect(await linesOf(rows(2))).toHaveLength(5)
  expect(impossibleChangesText(obstacles, 300).split('\n').slice(1)).toEqual([
    ...[2, 3, 4, 5, 6].map((n) =>
      expect.stringMatching(`^line ${n}: the NFT of the row was given an ID: add id=${n} to the row`),
    ),
    'and 295 more',
  ])
})

const UNREVEALED = 'the NFT is not revealed: use gdn reveal'
/** A plan with impossible changes of one reason. */
function unrevealed(n: number, fields: PlannedChange['fields'] = []) {
  const plan = planOf({ impossible: n, mint: 1 })
  async function* changes() {
    for await (const change of plan.changes()) {
      yield change.action === 'mint' ? change : { ...change, reason: UNREVEALED, fields }
    }
  }
  return { ...plan, changes }
}

test('shows impossible changes of the same reason as one, with their number and first places', async () => {
  const plan = unrevealed(30)
  expect(await linesOf(plan)).toEqual([
    'impossible line 2, line 3, line 4, line 5, line 6 and 25 more:',
    `    ${UNREVEALED}`,
    'mint line 2: T0',
  ])
  const obstacles = await collectImpossibleChanges(plan)
  expect(impossibleChangesText(obstacles, 30)).toBe(
    `\nline 2, line 3, line 4, line 5, line 6 and 25 more: ${UNREVEALED}`,
  )
  const markdown = await planMarkdown('drop.csv', plan as unknown as ChangePlan, obstacles)
  expect(markdown.split(UNREVEALED)).toHaveLength(2)
  expect(markdown).toContain('<summary>31 changes</summary>')
  expect(markdown).toContain('<code>line 2, line 3, line 4, line 5, line 6 and 25 more</code>')
})

test.each([
  [
    [{ field: 'title', from: 'a', to: 'b' }],
    0,
    'Fix the cause of each impossible change, or revert your edits to these rows.',
  ],
  [[], 0, 'Fix the cause of each impossible change.'],
  [[], 1, 'Fix the cause of each impossible change. To mint only the new rows, run `gdn apply drop.csv --only mint`.'],
])('speaks of edits and new rows only where there are some: %j, %i', async (fields, mint, text) => {
  const notes: string[] = []
  const plan = unrevealed(1, fields)
  const counted = { counts: { ...plan.counts, mint }, notes: [] }
  printPlanNotes({ note: (note) => notes.push(note) }, counted, await collectImpossibleChanges(plan), {
    allText: null,
    onlyMint: 'gdn apply drop.csv --only mint',
  })
  expect(notes).toContain(`gdn apply sends nothing if any change is impossible. ${text}`)
})

test('advises to omit --prune if NFTs of removed rows can not be burned', async () => {
  const plan = unrevealed(1)
  async function* changes() {
    for await (const change of plan.changes()) if (change.action === 'impossible') yield { ...change, want: 'burn' }
  }
  const hint = formatHint(await collectImpossibleChanges({ ...plan, changes } as never), { mint: 0 }, '')
  expect(hint).toContain('To keep the NFTs of removed rows, omit --prune.')
})

test('does not advise to fix the cause if NFTs are not dynamic', async () => {
  const plan = unrevealed(1, [{ field: 'image', from: 'a', to: 'b' }])
  const one = async (reason: string) => {
    async function* changes() {
      for await (const change of plan.changes()) if (change.action === 'impossible') yield { ...change, reason }
    }
    return formatHint(await collectImpossibleChanges({ ...plan, changes } as never), { mint: 0 }, '')
  }
  expect(await one(UNREVEALED)).toBe('Fix the cause of each impossible change, or revert your edits to these rows.')
  expect(await one(NOT_DYNAMIC_REASON)).toMatch(
    /^gdn updates only NFTs that were minted with --dynamic\. For the other NFTs, restore /,
  )
})

test('names the first 10 rows that changed after the plan was created', () => {
  const fields = [{ field: 'title', from: 'Ranger', to: 'Scout' }]
  const change: NftChange = {
    ...{ action: 'update', want: 'update', reason: null, fields, nftGdnId: 'n', tokenId: '1' },
    ...{ revision: 0, transfers: 0, reference: null },
  }
  const moved = (count: number) =>
    Array.from({ length: count }, (_, at) => ({
      key: `r${at}`,
      line: at + 2,
      changes: [change],
      what: 'title is Ranger',
    }))
  const [row] = (changedPlanError({ count: 1, rows: moved(1) }).details as { rows: object[] }).rows
  expect(row).toEqual({
    ...{ key: 'r0', line: 2, what: 'title is Ranger' },
    changes: [
      {
        ...{ action: 'update', want: 'update', nft_gdn_id: 'n', token_id: '1', revision: 0, changes: fields },
        ...{ reason: null, reference_id: null },
      },
    ],
  })
  const message = (count: number) => changedPlanError({ count, rows: moved(count) }).message.split('\n')
  expect(message(1)).toEqual(['rows changed after the plan was created: line 2 (title is Ranger)'])
  expect(message(2).slice(1)).toEqual(['  line 2 (title is Ranger)', '  line 3 (title is Ranger)'])
  expect(message(12)).toHaveLength(12)
  expect(message(12).slice(-2)).toEqual(['  line 11 (title is Ranger)', '  and 2 more'])
})
