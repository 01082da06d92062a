import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { NftChange } from '../../src/plan/compare.ts'
import type { Candidate } from '../../src/plan/find-nfts.ts'
import type { PlannedChange } from '../../src/plan/planned.ts'
import { SavedChanges } from '../../src/plan/saved-changes.ts'
import { openState, type State } from '../../src/state/open-state.ts'
import { inMemory } from '../operations/world.ts'
import { ALICE, BOB, CAROL, row } from './world.ts'

let dir: string
let state: State
beforeEach(async () => {
  dir = await mkdtemp(join(inMemory, 'gdn-saved-'))
  state = await openState(dir)
})
afterEach(async () => {
  state.close()
  await rm(dir, { recursive: true, force: true })
})

const TRANSFER: NftChange = {
  ...{ action: 'transfer', want: 'transfer', fields: [{ field: 'receiver', from: ALICE, to: BOB }], reason: null },
  ...{ nftGdnId: 'nft-1', tokenId: '1', revision: 2, transfers: 3, reference: 'a:to:b:3' },
}
const UPDATE: NftChange = {
  ...{ ...TRANSFER, action: 'update', want: 'update', reference: 'a:update:2' },
  fields: [{ field: 'title', from: 'Dawn', to: 'Dusk' }],
}
const burnOf = (more: Partial<PlannedChange> = {}): PlannedChange => ({
  ...{ ...TRANSFER, action: 'burn', want: 'burn', fields: [{ field: 'owner', from: ALICE, to: null }] },
  ...{ key: 'a', line: null, title: 'a', reference: 'a:burn', ...more },
})

async function saved(rows: readonly (readonly NftChange[])[], burns: readonly PlannedChange[] = []) {
  const changes = new SavedChanges(state)
  await changes.begin()
  for (const row of rows) await changes.row(row)
  for (const burn of burns) await changes.burn(burn)
  await changes.flush()
  return changes
}

/** Returns what moved between the saved changes of rows and those that are found now. */
async function movedOf(before: readonly NftChange[][], now: NftChange[][], lastUpdate: string | null = null) {
  const changes = await saved(before)
  const keyed = now.map((_, n) => ({ row: { key: `i:r${n}`, row: row('a') } }) as unknown as Candidate)
  await changes.compare(
    keyed,
    now.map((found, n) => [n, found]),
    () => ({ nft_gdn_id: 'nft-1', status: 'deployed', request_metadata: {}, revision_reference_id: lastUpdate }),
  )
  return changes.changedSinceSaved
}

describe('a saved plan of rows', () => {
  test.each<[string, NftChange, Partial<NftChange>]>([
    ['can no longer be made', TRANSFER, { action: 'impossible' }],
    ['is another kind of drift', { ...TRANSFER, action: 'drift', transfers: null }, { want: 'update' }],
    ['has another owner', TRANSFER, { fields: [{ field: 'receiver', from: CAROL, to: BOB }] }],
    ['is of another NFT', TRANSFER, { nftGdnId: 'nft-2' }],
    ['is of another revision', UPDATE, { revision: 4 }],
    ['follows another transfer', TRANSFER, { transfers: 5 }],
    ['has another reference ID', TRANSFER, { reference: 'a:to:b:4' }],
  ])('has moved if a change %s', async (_, change, now) => {
    const moved = { ...change, ...now }
    expect(await movedOf([[change]], [[moved]])).toMatchObject({ count: 1, rows: [{ line: 2, changes: [moved] }] })
  })

  test('has not moved if nothing differs, or an update follows another transfer, or a reason is another', async () => {
    const reason = 'in progress'
    for (const now of [UPDATE, { ...UPDATE, transfers: 5 }, { ...UPDATE, reason }]) {
      expect(await movedOf([[], [UPDATE]], [[], [now]])).toEqual({ count: 0, rows: [] })
    }
  })

  test('has not moved if some of its changes were made', async () => {
    expect(await movedOf([[UPDATE, TRANSFER]], [[TRANSFER]])).toMatchObject({ count: 0 })
    expect(await movedOf([[UPDATE, TRANSFER]], [[]])).toMatchObject({ count: 0 })
  })

  test('has not moved if the update of the plan has created the revision, with any number', async () => {
    const both = [UPDATE, TRANSFER]
    const now = [{ ...TRANSFER, revision: 9 }]
    expect(await movedOf([both], [now], UPDATE.reference)).toMatchObject({ count: 0 })
    for (const other of [null, 'a:update:1', 'b:update:2']) {
      expect((await movedOf([both], [now], other)).rows).toMatchObject([{ what: 'its metadata was updated' }])
    }
    expect(await movedOf([[TRANSFER]], [now], UPDATE.reference)).toMatchObject({ count: 1 })
    const again = { ...UPDATE, revision: 9, reference: 'a:update:9' }
    expect(await movedOf([both], [[again]], UPDATE.reference)).toMatchObject({ count: 1 })
    const sold = [{ ...TRANSFER, revision: 9, transfers: 4, reference: 'a:to:b:4' }]
    expect((await movedOf([both], [sold], UPDATE.reference)).rows).toMatchObject([{ what: 'it was transferred' }])
  })

  test.each<[string, NftChange[], NftChange[]]>([
    ['its metadata was updated', [TRANSFER], [{ ...TRANSFER, revision: 3 }]],
    ['it was transferred', [TRANSFER], [{ ...TRANSFER, transfers: 5 }]],
    [
      'the metadata of the NFT is frozen',
      [UPDATE],
      [{ ...UPDATE, action: 'impossible', reason: 'the metadata of the NFT is frozen' }],
    ],
    ['title is Noon', [UPDATE], [{ ...UPDATE, fields: [{ field: 'title', from: 'Noon', to: 'Dusk' }] }]],
    ['title is Dawn', [TRANSFER], [UPDATE, TRANSFER]],
    [
      `receiver is ${CAROL}`,
      [UPDATE, TRANSFER],
      [UPDATE, { ...TRANSFER, fields: [{ field: 'receiver', from: CAROL, to: BOB }] }],
    ],
    [
      'description is x',
      [{ ...UPDATE, fields: [...UPDATE.fields, { field: 'description', from: 'y', to: 'x' }] }],
      [{ ...UPDATE, revision: 3 }],
    ],
  ])('names what has changed: %s', async (what, before, now) => {
    expect((await movedOf([before], [now])).rows).toMatchObject([{ what }])
  })

  test('has moved if a row has a change that it had not', async () => {
    expect(await movedOf([[]], [[UPDATE]])).toMatchObject({ count: 1 })
    expect(await movedOf([[UPDATE]], [[UPDATE, TRANSFER]])).toMatchObject({ count: 1 })
  })

  test('names the first 50 rows that have moved, and counts all', async () => {
    const moved = await movedOf([], Array(60).fill([UPDATE]))
    expect([moved.count, moved.rows.length]).toEqual([60, 50])
  })
})

describe('a saved plan of burns', () => {
  const none = async () => new Set<string>()

  test('has not moved if the same burns are found', async () => {
    const changes = await saved([], [burnOf()])
    await changes.compareBurn(burnOf({ reason: 'in progress' }))
    await changes.compareRemainingBurns(none)
    expect(changes.changedSinceSaved).toEqual({ count: 0, rows: [] })
  })

  test.each<[string, Partial<PlannedChange>]>([
    ['its owner sold the NFT', { action: 'drift', fields: [{ field: 'owner', from: BOB, to: null }] }],
    ['the NFT was updated', { revision: 3 }],
    ['it can no longer be made', { action: 'impossible' }],
  ])('has moved if %s', async (_, now) => {
    const changes = await saved([], [burnOf()])
    await changes.compareBurn(burnOf(now))
    await changes.compareRemainingBurns(none)
    expect(changes.changedSinceSaved).toMatchObject({ count: 1, rows: [{ key: 'a', line: null, changes: [now] }] })
  })

  test('has moved if another NFT would be burned in addition', async () => {
    const changes = await saved([], [burnOf()])
    await changes.compareBurn(burnOf())
    await changes.compareBurn(burnOf({ key: 'b', nftGdnId: 'nft-2' }))
    expect(changes.changedSinceSaved).toMatchObject({ count: 1, rows: [{ key: 'b' }] })
  })

  test('has moved if this machine did not mint an NFT that is not burned yet', async () => {
    const changes = await saved([], [burnOf(), burnOf({ key: 'b', nftGdnId: 'nft-2' })])
    await changes.compareRemainingBurns(async () => new Set(['nft-1']))
    const reason = 'this machine has no run that minted it'
    expect(changes.changedSinceSaved).toMatchObject({
      count: 1,
      rows: [{ key: 'b', changes: [{ action: 'impossible', reason }] }],
    })
  })
})
