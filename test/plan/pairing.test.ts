/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { BatchOptions } from '../../src/batch/types.ts'
import type { ManifestRow } from '../../src/manifest/row.ts'
import type { PlanOptions } from '../../src/plan/planned.ts'
import { ALICE, BOB, Machine, Server } from './world.ts'

const DROP: Partial<PlanOptions> = { manifestPath: '/shop/jan/drop.csv', label: 'jan/drop.csv' }

let server: Server
const start = () => Machine.start(server)
beforeEach(() => {
  server = new Server()
})

/** A row without an ID. */
const row = (title: string, line = 2, receiver = ALICE): ManifestRow => ({
  ...{ line, id: null, receiver, sender: null, localFiles: [] },
  metadata: { title, description: '', file_fields: [] },
})
const rowsOf = (...titles: string[]) => titles.map((title, n) => row(title, n + 2))
/** The rows with IDs from 1. */
const withIds = (rows: readonly ManifestRow[], from = 1) => rows.map((one, n) => ({ ...one, id: `${n + from}` }))
const titled = (one: ManifestRow, title: string) => ({ ...one, metadata: { ...one.metadata, title } })

const mint = (machine: Machine, rows: readonly ManifestRow[], more: Partial<BatchOptions> = {}) =>
  machine.mint(rows, { ...DROP, ...more })
const plan = (machine: Machine, rows: readonly ManifestRow[], more: Partial<PlanOptions> = {}) =>
  machine.plan(rows, { ...DROP, ...more })
const apply = (machine: Machine, rows: readonly ManifestRow[], more: Partial<PlanOptions> = {}) =>
  machine.apply(rows, { ...DROP, ...more })

const STORED = (rows: string) => `${rows} after their mint. gdn apply stores each ID with its NFT`
const FILE = 'ipfs://bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'
const DROPPED = rowsOf('A', 'B', 'C')

describe('rows that get their IDs after the mint', () => {
  test('are unchanged, are paired by apply, and can be edited then, on any machine', {
    tags: ['promise'],
  }, async () => {
    const machine = await start()
    await mint(machine, DROPPED)
    const named = withIds(DROPPED)
    const first = await plan(machine, named)
    expect(first).toMatchObject({ changes: [], counts: { unchanged: 3, mint: 0, vanished: 0 } })
    expect(first.notes).toEqual([STORED('IDs were added to 3 rows')])
    await apply(machine, named)
    expect(server.aliased).toEqual(['A', 'B', 'C'])
    expect(await plan(machine, named)).toMatchObject({ paired: [], changes: [], notes: [] })

    const edited = [
      titled(named[0] as ManifestRow, 'A!'),
      named[1] as ManifestRow,
      titled(named[2] as ManifestRow, 'C!'),
    ]
    for (const each of [machine, await start()]) {
      const { changes, counts, notes } = await plan(each, edited, { prune: true })
      expect(changes).toEqual(['update update 1: title A → A!', 'update update 3: title C → C!'])
      expect(counts).toMatchObject({ mint: 0, burn: 0, vanished: 0, unchanged: 1 })
      expect(notes).toEqual([])
    }
    await apply(await start(), edited)
    expect(server.titles).toEqual(['A!', 'B', 'C!'])
    expect((await plan(machine, edited)).changes).toEqual([])
    expect(server.bodies('createnft')).toHaveLength(1)
  })

  test('are paired by batch mint too, which mints only added rows', async () => {
    const machine = await start()
    await mint(machine, DROPPED)
    await mint(machine, withIds(rowsOf('A', 'B', 'C', 'D')))
    expect(server.titles).toEqual(['A', 'B', 'C', 'D'])
    expect(server.aliased).toEqual(['A', 'B', 'C'])
    const edited = withIds(rowsOf('A', 'B!', 'C', 'D'))
    expect((await plan(await start(), edited)).changes).toEqual(['update update 2: title B → B!'])
  })

  test('are paired without a state, by the reference IDs that the server made from content', async () => {
    await mint(await start(), DROPPED)
    const machine = await start()
    expect(await plan(machine, withIds(DROPPED))).toMatchObject({ changes: [], counts: { unchanged: 3 } })
    await apply(machine, withIds(DROPPED))
    expect(server.aliased).toEqual(['A', 'B', 'C'])
    await mint(await start(), withIds(DROPPED))
    expect(server.titles).toEqual(['A', 'B', 'C'])
  })

  test('are paired without a state by batch mint', async () => {
    await mint(await start(), DROPPED)
    const machine = await start()
    await mint(machine, withIds(rowsOf('A', 'B', 'C', 'D')))
    expect(server.titles).toEqual(['A', 'B', 'C', 'D'])
    expect(server.aliased).toEqual(['A', 'B', 'C'])
    expect((await plan(machine, withIds(rowsOf('A', 'B', 'C', 'D')))).changes).toEqual([])
  })

  test('may be some of the rows', async () => {
    const machine = await start()
    await mint(machine, DROPPED)
    const [a, b, c] = DROPPED as [ManifestRow, ManifestRow, ManifestRow]
    const some = [a, { ...b, id: 'b' }, c]
    await apply(machine, some)
    expect(server.aliased).toEqual(['B'])
    const { changes } = await plan(await start(), [a, titled({ ...b, id: 'b' }, 'B!'), c])
    expect(changes).toEqual(['update update b: title B → B!'])
  })

  test('may be fewer than those that were minted', async () => {
    const machine = await start()
    await mint(machine, DROPPED)
    const { counts, paired } = await plan(machine, withIds(rowsOf('A', 'B')))
    expect(counts).toMatchObject({ unchanged: 2, mint: 0, vanished: 1 })
    expect(paired).toEqual(['id:1 nft-1 wanted', 'id:2 nft-2 wanted'])
    expect((await plan(await start(), withIds(rowsOf('A', 'B')))).paired).toEqual(paired)
  })

  test('are looked up by label and by content while a run is new, in three requests for up to 1,000 rows', async () => {
    await mint(await start(), withIds(DROPPED))
    const machine = await start()
    const requests: string[] = []
    server.onRequest = (endpoint) => void requests.push(endpoint)
    await plan(machine, withIds(DROPPED))
    expect(requests.filter((endpoint) => endpoint === 'getreferences')).toHaveLength(3)
  })

  test('are paired after a mint that was interrupted, and the others are minted', async () => {
    const machine = await start()
    let n = 0
    const stop = { status: 403, json: { error: { title: 'Forbidden', message: 'no more' } } }
    server.onRequest = (endpoint) => (endpoint === 'createnft' && ++n > 1 ? stop : undefined)
    await expect(mint(machine, DROPPED, { chunkSize: 1, inOrder: true })).rejects.toMatchObject({ code: 'forbidden' })
    server.onRequest = () => undefined
    expect(server.titles).toEqual(['A'])
    const named = withIds(DROPPED)
    const { counts } = await plan(machine, named)
    expect(counts).toMatchObject({ mint: 2, unchanged: 1 })
    await apply(machine, named)
    await mint(machine, named, { keepEdited: true })
    expect(server.titles).toEqual(['A', 'B', 'C'])
  })

  test('keep their NFTs if the run is resumed from its stored rows', async () => {
    const machine = await start()
    await mint(machine, DROPPED)
    await apply(machine, withIds(DROPPED))
    const rows = await machine.state((sql) =>
      sql.all<{ key: string }>('SELECT r.key FROM rows r JOIN drops d ON d.set_id = r.set_id ORDER BY r.position'),
    )
    expect(rows.map(({ key }) => key)).toEqual(['id:1', 'id:2', 'id:3'])
    await expect(mint(machine, withIds(DROPPED))).rejects.toMatchObject({ code: 'run_finished' })
  })

  test('can be burned by the plan of a manifest without them', async () => {
    const machine = await start()
    await mint(machine, DROPPED)
    await apply(machine, withIds(DROPPED))
    const { changes } = await plan(machine, withIds(DROPPED).slice(1), { prune: true })
    expect(changes).toEqual([expect.stringMatching(/^burn burn 1: owner/)])
    // Transferred under their IDs.
    const moved = withIds(DROPPED).map((one) => ({ ...one, receiver: BOB }))
    await apply(machine, moved)
    expect((await plan(machine, moved.slice(1), { prune: true })).changes).toEqual([
      expect.stringMatching(/^burn burn 1: owner/),
    ])
  })

  test('with swapped IDs after that are edits of both, which another machine makes with --allow-exchanged', async () => {
    const machine = await start()
    await mint(machine, rowsOf('A', 'B'))
    await apply(machine, withIds(rowsOf('A', 'B')))
    const swapped = withIds(rowsOf('B', 'A'))
    await expect(plan(await start(), swapped)).rejects.toMatchObject({ code: 'seems_minted', details: { count: 2 } })
    const { changes } = await plan(await start(), swapped, { allowExchanged: true })
    expect(changes).toEqual(['update update 1: title A → B', 'update update 2: title B → A'])
  })
})

describe('on a machine without a state, rows that got their IDs', () => {
  const moved = { manifestPath: '/shop/archive/drop.csv', label: 'archive/drop.csv' }
  const COMMANDS = {
    plan,
    mint,
    async apply(machine: Machine, rows: readonly ManifestRow[], more: Partial<PlanOptions>) {
      const { counts } = await plan(machine, rows, more)
      if (counts.mint > 0) await mint(machine, rows, { ...more, adopt: false, keepEdited: true })
      return await apply(machine, rows, more)
    },
  }
  const named = withIds(DROPPED)

  test.each(['plan', 'mint', 'apply'] as const)('and another label stop %s until --adopt', async (command) => {
    await mint(await start(), DROPPED)
    const ends = COMMANDS[command](await start(), named, moved)
    await expect(ends).rejects.toMatchObject({
      code: 'seems_minted',
      message: '3 rows were minted by the run "jan/drop.csv", but this run is "archive/drop.csv"',
      details: { rows: [{ key: '1', nft_gdn_id: 'nft-1' }, { key: '2' }, { key: '3' }], count: 3 },
    })
    await COMMANDS[command](await start(), named, { ...moved, adopt: true })
    expect(server.titles).toEqual(['A', 'B', 'C'])
    if (command === 'plan') return
    expect(server.aliased).toEqual(['A', 'B', 'C'])
    expect(server.labels).toEqual(Array(6).fill('archive/drop.csv'))
    const edited = withIds(rowsOf('A!', 'B!', 'C!'))
    expect((await plan(await start(), edited, moved)).counts).toMatchObject({ update: 3, mint: 0 })
  })

  test.each([
    ['no label there', null, 'jan/drop.csv'],
    ['no label here', 'jan/drop.csv', null],
  ])('and %s are paired by their content', async (_, found, label) => {
    await mint(await start(), DROPPED, { label: found })
    expect((await plan(await start(), named, { label })).counts).toMatchObject({ unchanged: 3, mint: 0 })
    await COMMANDS.apply(await start(), named, { label })
    const edited = withIds(rowsOf('A!', 'B!', 'C!'))
    expect((await plan(await start(), edited, { label })).counts).toMatchObject({ update: 3, mint: 0 })
    expect(server.titles).toEqual(['A', 'B', 'C'])
  })

  test('rows that got their IDs and whose NFTs were burned are not minted again on a machine without a state', async () => {
    await mint(await start(), DROPPED)
    Object.assign(server.nft('B'), { isBurned: true })
    const { counts, changes } = await plan(await start(), named)
    expect(counts).toMatchObject({ unchanged: 2, mint: 0, drift: 1 })
    expect(changes).toEqual([expect.stringContaining('drift transfer 2: ')])
    await mint(await start(), named)
    expect(server.titles).toEqual(['A', 'B', 'C'])
  })

  test('are paired in their order if they are equal and on several pages', { tags: ['promise'] }, async () => {
    const many = rowsOf(...Array(1_100).fill('A'), 'B', 'A')
    await mint(await start(), many, { label: null })
    const { counts, paired } = await plan(await start(), withIds(many), { label: null })
    expect(counts).toMatchObject({ unchanged: 1_102, mint: 0 })
    expect(paired).toEqual(many.map((_one, n) => `id:${n + 1} nft-${n + 1} wanted`))
  })
})

describe('equal rows', () => {
  const EQUAL = rowsOf('Same', 'Same', 'Same')

  test('are paired in their order', async () => {
    const machine = await start()
    await mint(machine, EQUAL)
    const { paired } = await plan(machine, withIds(EQUAL))
    expect(paired).toEqual(['id:1 nft-1 wanted', 'id:2 nft-2 wanted', 'id:3 nft-3 wanted'])
    expect((await plan(await start(), withIds(EQUAL))).paired).toEqual(paired)
  })

  test('are paired in their order where the first was minted last', async () => {
    const machine = await start()
    let n = 0
    server.onRequest = (endpoint) =>
      endpoint === 'createnft' && n++ === 0
        ? { status: 400, json: { error: { title: 'No', message: 'no' } } }
        : undefined
    const oneByOne = { chunkSize: 1, inOrder: true }
    await expect(mint(machine, EQUAL, oneByOne)).rejects.toThrow('not all rows were minted')
    await mint(machine, EQUAL, { ...oneByOne, retryFailed: true })
    const paired = ['id:1 nft-3 wanted', 'id:2 nft-1 wanted', 'id:3 nft-2 wanted']
    for (const each of [machine, await start()]) expect((await plan(each, withIds(EQUAL))).paired).toEqual(paired)
  })

  test('with a local file in the folder of each machine are paired in their order', async () => {
    const rowsOn = async ({ stateDir }: Machine): Promise<ManifestRow[]> => {
      const path = join(stateDir, 'a.png')
      await writeFile(path, 'the same')
      const file_fields = [{ key: 'image', url: '' }]
      const localFiles = [{ key: 'image', path }]
      return EQUAL.map((one) => ({ ...one, localFiles, metadata: { ...one.metadata, file_fields } }))
    }
    const machine = await start()
    machine.upload = async () => ({ url: FILE })
    await mint(machine, await rowsOn(machine), { chunkSize: 2, inOrder: true })
    const adopting = await start()
    await mint(adopting, await rowsOn(adopting))
    for (const each of [machine, adopting, await start()]) {
      expect((await plan(each, withIds(await rowsOn(each)))).paired).toEqual([
        'id:1 nft-1 wanted',
        'id:2 nft-2 wanted',
        'id:3 nft-3 wanted',
      ])
    }
  })

  test('equal rows of which some have no ID yet keep one NFT each', async () => {
    const machine = await start()
    await mint(machine, EQUAL)
    const some = [{ ...(EQUAL[0] as ManifestRow), id: '1' }, ...EQUAL.slice(1)]
    for (const each of [machine, await start()]) {
      expect(await plan(each, some)).toMatchObject({ changes: [], paired: ['id:1 nft-3 wanted'] })
    }
  })

  test('equal rows that two machines pair differently have the pairs that were stored first', async () => {
    const [one, two] = [await start(), await start()]
    await mint(one, EQUAL)
    await mint(two, EQUAL)
    const reversed = withIds(EQUAL).reverse()
    await apply(one, withIds(EQUAL))
    await apply(two, reversed)
    const edited = reversed.map((each) => titled(each, `Row ${each.id}`))
    await apply(two, edited)
    expect(server.titles).toEqual(['Row 1', 'Row 2', 'Row 3'])
    for (const each of [one, two, await start()]) expect((await plan(each, edited)).changes).toEqual([])
  })

  test('equal rows that two machines pair differently at the same time stop the second one', async () => {
    const [one, two] = [await start(), await start()]
    await mint(one, EQUAL)
    await mint(two, EQUAL)
    let isFirst = true
    server.onRequest = async (endpoint) => {
      if (endpoint === 'aliasreferences' && isFirst) {
        isFirst = false
        await apply(one, withIds(EQUAL))
      }
      return undefined
    }
    const reversed = withIds(EQUAL).reverse()
    await expect(apply(two, reversed)).rejects.toMatchObject({ code: 'refused' })
    await apply(two, reversed)
    expect((await plan(two, reversed)).paired).toEqual([])
    expect((await two.live('createnft')).length).toBe(3)
  })
})

describe('a kill', () => {
  test('between the alias and the state is repaired by the next apply', async () => {
    const machine = await start()
    await mint(machine, DROPPED)
    const named = withIds(DROPPED)
    await apply(await start(), named)
    // The server has the pairs, this state doesn't: as after a kill.
    const edited = [titled(named[0] as ManifestRow, 'A!'), ...named.slice(1)]
    expect(await plan(machine, edited, { prune: true })).toMatchObject({
      changes: ['update update 1: title A → A!'],
      ...{ counts: { mint: 0, burn: 0, vanished: 0 }, notes: [] },
      paired: ['id:1 nft-1 stored', 'id:2 nft-2 stored', 'id:3 nft-3 stored'],
    })
    await apply(machine, edited)
    expect(server.titles).toEqual(['A!', 'B', 'C'])
    expect((await plan(machine, edited)).paired).toEqual([])
  })

  test('between pages of aliases leaves pairs that the next apply completes', async () => {
    const machine = await start()
    await mint(machine, DROPPED)
    const [a] = withIds(DROPPED)
    await apply(machine, [a as ManifestRow, ...DROPPED.slice(1)])
    expect(server.aliased).toEqual(['A'])
    await apply(await start(), withIds(DROPPED))
    expect(server.aliased).toEqual(['A', 'B', 'C'])
  })

  test('after the state was written and before the server knows it is repaired by the next apply', async () => {
    const machine = await start()
    await mint(machine, DROPPED)
    const named = withIds(DROPPED)
    server.onRequest = (endpoint, body) =>
      endpoint === 'aliasreferences' ? { status: 200, json: { requests: body, aliased: 3 } } : undefined
    await apply(machine, named)
    server.onRequest = () => undefined
    expect(server.aliased).toEqual([])
    const secondResult = await plan(machine, named)
    expect(secondResult).toMatchObject({ changes: [], notes: [STORED('IDs were added to 3 rows')] })
    await apply(machine, named)
    expect(server.aliased).toEqual(['A', 'B', 'C'])
  })
})

describe('a row that was edited and got its ID at once', () => {
  const EDITED = withIds(rowsOf('A', 'B', 'C!'))
  const refusal = {
    code: 'edited_rows',
    message: expect.stringMatching(
      /^1 NFT that was minted without an ID has no row, and 1 row with an ID has no NFT: /,
    ),
    hint: expect.stringMatching(/revert these edits, keep the IDs, and run `gdn apply`[\s\S]*add --new-rows/),
    details: { vanished: 1, new: 1, rows: [{ line: 4 }], count: 1 },
  }

  test.each([
    ['where it was minted', true],
    ['on a machine without a state', false],
  ])('is refused by each command %s', async (_, hasState) => {
    const first = await start()
    await mint(first, DROPPED)
    for (const command of [
      (machine: Machine) => plan(machine, EDITED),
      (machine: Machine) => plan(machine, EDITED, { prune: true }),
      (machine: Machine) => plan(machine, EDITED, { adopt: true }),
      (machine: Machine) => apply(machine, EDITED),
      (machine: Machine) => mint(machine, EDITED),
      (machine: Machine) => mint(machine, EDITED, { adopt: true }),
    ]) {
      await expect(command(hasState ? first : await start())).rejects.toMatchObject(refusal)
    }
    expect(server.titles).toEqual(['A', 'B', 'C'])
    expect(server.aliased).toEqual([])
    expect(server.sent).toHaveLength(1)
  })

  test('is refused without an ID too, where another machine has minted the label', { tags: ['promise'] }, async () => {
    await mint(await start(), DROPPED)
    const rows = rowsOf('A', 'B', 'C!')
    const again = await start()
    await mint(again, DROPPED)
    const refusal = { code: 'edited_rows', details: { vanished: 1, new: 1 } }
    for (const command of [plan, apply, mint]) {
      await expect(command(await start(), rows)).rejects.toMatchObject(refusal)
    }
    await expect(mint(again, rows)).rejects.toMatchObject(refusal)
    expect(server.titles).toEqual(['A', 'B', 'C'])
    const other = await start()
    expect((await plan(other, [...DROPPED, row('D', 5)])).counts).toMatchObject({ mint: 1, unchanged: 3 })
    await mint(other, rows, { newRows: true })
    expect(server.titles).toEqual(['A', 'B', 'C', 'C!'])
  })

  test('is noted without an ID where a drop has no label', async () => {
    const unlabeled = { label: null }
    await mint(await start(), DROPPED, unlabeled)
    const { notes } = await plan(await start(), rowsOf('A', 'B', 'C!'), unlabeled)
    expect(notes).toContainEqual(expect.stringMatching(/^The drop has no label\. If another machine minted a row/))
    expect((await plan(await start(), DROPPED, unlabeled)).notes).toEqual([])
  })

  test('is minted with --new-rows, and the others are paired', async () => {
    const machine = await start()
    await mint(machine, DROPPED)
    const { changes } = await plan(machine, EDITED, { newRows: true })
    expect(changes).toEqual(['mint mint 3: '])
    await apply(machine, EDITED, { newRows: true })
    await mint(machine, EDITED, { newRows: true })
    expect(server.titles).toEqual(['A', 'B', 'C', 'C!'])
    expect(server.aliased).toEqual(['A', 'B'])
    // The NFT of the removed row still exists.
    const gone = '1 row that the run has sent is no longer in the manifest'
    expect((await plan(machine, EDITED)).notes).toContain(gone)
    // This machine has seen that the third row is another one. It is not asked again.
    expect((await plan(machine, [...EDITED, ...withIds([row('D', 5)], 4)])).changes).toEqual(['mint mint 4: '])
  })

  test('is paired once the edit was reverted and its ID kept', async () => {
    const machine = await start()
    await mint(machine, DROPPED)
    await expect(plan(machine, EDITED)).rejects.toMatchObject({ code: 'edited_rows' })
    await apply(machine, withIds(DROPPED))
    expect((await plan(machine, EDITED)).changes).toEqual(['update update 3: title C → C!'])
  })

  test('is not compared with burned NFTs', async () => {
    const machine = await start()
    await mint(machine, DROPPED)
    Object.assign(server.nft('C'), { isBurned: true })
    for (const each of [machine, await start()]) {
      expect((await plan(each, EDITED)).counts).toMatchObject({ mint: 1, unchanged: 2 })
    }
  })

  test('is not compared with NFTs of another label, or without one', async () => {
    await mint(await start(), DROPPED, { runName: 'other', label: 'other' })
    await mint(await start(), rowsOf('X'), { manifestPath: '/x.csv', label: null })
    // Two of its rows have the content of NFTs of the other run, which a mint refuses too.
    for (const command of [plan, mint]) {
      await expect(command(await start(), EDITED)).rejects.toMatchObject({
        code: 'seems_minted',
        details: { count: 2 },
      })
    }
    expect((await plan(await start(), rowsOf('A!', 'Y', 'Z'))).counts).toMatchObject({ mint: 3 })
  })

  test('is not paired with an NFT that another row has', async () => {
    const machine = await start()
    await mint(machine, DROPPED)
    await apply(machine, withIds(DROPPED))
    // Row 1 is edited. A new row has its former content, and another ID.
    const rows = [...withIds(rowsOf('A!', 'B', 'C')), { ...row('A', 5), id: 'new' }]
    for (const each of [machine, await start()]) {
      expect((await plan(each, rows)).changes).toEqual(['update update 1: title A → A!', 'mint mint new: '])
    }
    // The same, and row 1 is gone. A machine that has not minted it can't tell the new row from it.
    expect((await plan(machine, rows.slice(1))).changes).toEqual(['mint mint new: '])
    for (const command of [plan, apply]) {
      await expect(command(await start(), rows.slice(1))).rejects.toMatchObject({ code: 'seems_minted' })
    }
  })
})

test('rows that replace others with IDs are new, and nothing is refused', async () => {
  const machine = await start()
  await mint(machine, withIds(DROPPED))
  const rows = [...withIds(rowsOf('A', 'B')), { ...row('D', 5), id: '4' }]
  expect(await plan(machine, rows)).toMatchObject({ changes: ['mint mint 4: '], counts: { vanished: 1 }, paired: [] })
})

test('rows of a drop that was minted again are not compared with the NFTs of its first mint', async () => {
  const machine = await start()
  await mint(machine, DROPPED)
  await mint(machine, DROPPED, { again: true })
  const { changes, paired } = await plan(machine, withIds(rowsOf('A', 'B', 'C', 'D')))
  expect(changes).toEqual(['mint mint 4: '])
  expect(paired).toEqual(['id:1 nft-4 wanted', 'id:2 nft-5 wanted', 'id:3 nft-6 wanted'])
})

describe('a row without an ID', () => {
  test('a row without an ID that has the content of an NFT whose row got an ID is neither minted nor compared', async () => {
    const machine = await start()
    await mint(machine, DROPPED)
    await apply(machine, withIds(DROPPED))
    const rows = [...withIds(rowsOf('A!', 'B', 'C')), row('A', 5)]
    for (const each of [machine, await start()]) {
      const { changes } = await plan(each, rows)
      expect(changes).toEqual([
        'update update 1: title A → A!',
        expect.stringMatching(/^impossible mint .*: the NFT of the row was given an ID: add id=1 to the row, or/),
      ])
      await expect(mint(each, rows)).rejects.toMatchObject({
        code: 'seems_minted',
        message: expect.stringMatching(/^1 row without an ID has the same content as NFTs whose rows have IDs/),
      })
      expect(server.titles).toEqual(['A', 'B', 'C'])
    }
  })

  test('a row without an ID that got an ID on another machine names this ID, if it is a usual one', async () => {
    const machine = await start()
    await mint(machine, DROPPED)
    await apply(machine, [
      { ...row('A', 2), id: '001' },
      { ...row('B', 3), id: 'B' },
      { ...row('C', 4), id: 'other' },
    ])
    const other = await start()
    const reasons = (...reasons: string[]) =>
      reasons.map((reason) =>
        expect.stringMatching(
          `^impossible mint .*: the NFT of the row was given an ID${reason} to the row, or mint the row with another ID$`,
        ),
      )
    const { changes, notes } = await plan(other, DROPPED)
    expect(changes).toEqual(reasons(': add id=001', ': add id=B', ' on another machine: add that ID'))
    const rowsIn = (run: string) =>
      `To get the rows with their IDs, run \`gdn batch results ${run} -o csv --for-spreadsheet\``
    expect(notes).toEqual([`${rowsIn('<run>')} on the machine that added the IDs`])
    // The machine that added the IDs knows each of them.
    const here = await plan(machine, DROPPED)
    expect(here.changes).toEqual(reasons(': add id=001', ': add id=B', ': add id=other'))
    expect(here.notes).toEqual([
      expect.stringMatching(
        /^To get the rows with their IDs, run `gdn batch results drop-\w+ -o csv --for-spreadsheet`$/,
      ),
    ])
    await expect(mint(other, DROPPED)).rejects.toMatchObject({
      message:
        '3 rows without an ID have the same content as NFTs whose rows have IDs\nline 2: add id=001\nline 3: add id=B\nand 1 more',
      hint: expect.stringContaining(`${rowsIn('<run>')} on the machine`),
    })
    await expect(mint(machine, DROPPED)).rejects.toMatchObject({
      message: expect.stringContaining('line 4: add id=other'),
      hint: expect.stringMatching(/--for-spreadsheet`\.$/),
    })
  })

  test('a row without an ID that was edited is described as such, and no other row is', async () => {
    const machine = await start()
    await mint(machine, DROPPED)
    const edited = '. Without an id, an edited row is a new row, and would be minted as an additional NFT'
    const gone = '1 row that the run has sent is no longer in the manifest'
    const burns = 'Its NFT is burned only by a plan that was saved with --prune and --out'
    const named = 'Without a row: C'
    expect((await plan(machine, rowsOf('A', 'B', 'C!'))).notes).toEqual([gone + edited, named, burns])
    expect((await plan(machine, rowsOf('A', 'B'))).notes).toEqual([gone, named, burns])
    const paired = [...withIds(rowsOf('A')), ...rowsOf('B', 'C!')]
    expect((await plan(machine, paired)).notes).toEqual(expect.arrayContaining([gone + edited, burns]))
    const mixed = [...rowsOf('A', 'B'), { ...row('New', 4), id: 'new' }]
    expect((await plan(machine, mixed, { newRows: true })).notes).toEqual([gone, named, burns])
  })
})

test.each([
  ['was burned', 2, () => Object.assign(server.nft('B'), { isBurned: true })],
  [
    'has an unknown outcome',
    3,
    (machine: Machine) => machine.state((sql) => sql.run("UPDATE operations SET state = 'unknown' WHERE line = 3")),
  ],
])('the note and the error of missing rows have the same count if one %s', async (_, missing, change) => {
  const machine = await start()
  await mint(machine, rowsOf('A', 'B', 'C', 'D'))
  await change(machine)
  const edited = [...rowsOf('A'), row('New', 9)]
  const text = `${missing} rows that the run has sent are no longer in the manifest`
  expect((await plan(machine, edited)).notes[0]).toContain(text)
  await expect(mint(machine, edited)).rejects.toMatchObject({ message: expect.stringContaining(text) })
})

test('NFTs whose reference IDs have no kind on the server are paired on this machine only', async () => {
  server.onRequest = (_, body) => void delete body.reference_kinds
  const machine = await start()
  await mint(machine, DROPPED)
  const named = withIds(DROPPED)
  const paired = ['id:1 nft-1 impossible', 'id:2 nft-2 impossible', 'id:3 nft-3 impossible']
  expect((await plan(machine, named)).paired).toEqual(paired)
  await apply(machine, named)
  expect(server.aliased).toEqual([])
  expect((await plan(machine, withIds(rowsOf('A!', 'B', 'C')))).changes).toEqual(['update update 1: title A → A!'])
})

describe('a server without aliases', () => {
  test.each([
    ['and with labels', { hasAliases: false }],
    ['or labels', { hasLabels: false }],
    ['or reference IDs', { isOurs: false }],
  ])('%s leaves the pairs to this machine, and plan says so', async (_, abilities) => {
    server = new Server(abilities)
    const machine = await start()
    await mint(machine, DROPPED)
    const { notes } = await plan(machine, withIds(DROPPED))
    expect(notes).toEqual([
      "IDs were added to 3 rows after their mint. The server can't store IDs with NFTs, so the IDs are recorded only on this machine",
    ])
    await apply(machine, withIds(DROPPED))
    expect((await plan(machine, withIds(rowsOf('A!', 'B', 'C')))).changes).toEqual([
      expect.stringMatching(/^(update|impossible) update 1: title A → A!/),
    ])
    await expect(plan(machine, [...withIds(rowsOf('A', 'B', 'C')), row('A', 5)])).resolves.toMatchObject({
      counts: { unchanged: expect.any(Number) },
    })
    expect(server.titles).toEqual(['A', 'B', 'C'])
  })
})

describe('a hostile server', () => {
  const rows = withIds(DROPPED)
  /** Responds to a request for the NFTs without an ID instead of the server. */
  const answer = (reply: (n: number) => object) => {
    let n = 0
    server.onRequest = (endpoint, requests) =>
      endpoint === 'getcontentreferences' ? { status: 200, json: { requests, ...reply(n++) } } : undefined
  }
  const page = (next: string | null, ...references: object[]) => ({ references, next })
  const unknown = { reference_id: 'x', nft_gdn_id: 'nft-99' }

  test.each<[string, (n: number) => object, string | null]>([
    ['pages without an end', (n) => page(String(n).padStart(6, '0')), 'bad_answer'],
    ['a page that refers to itself', () => page('1'), null],
    ['pages that refer to each other', (n) => page(String(n % 2)), null],
    ['no list', () => ({ references: 'none', next: null }), 'bad_answer'],
    ['an NFT without an ID', () => page(null, { reference_id: 'x' }), 'bad_answer'],
    ['a next page that is a number', () => ({ references: [], next: 1 }), 'bad_answer'],
    ['an NFT that no row can be compared with', () => page(null, unknown), 'edited_rows'],
  ])('that lists %s is not waited for, and nothing is minted', async (_, reply, code) => {
    await mint(await start(), rowsOf('other'))
    answer(reply)
    const ends = plan(await start(), rows).then(
      () => null,
      (error: { code: string }) => error.code,
    )
    expect(await ends).toBe(code)
    expect(server.titles).toEqual(['other'])
  })

  test.each([
    ['no number', { status: 200, json: { requests: {}, aliased: 'all' } }, 'bad_answer'],
    ['a list', { status: 200, json: [] }, 'bad_answer'],
  ])('that answers the storing of IDs with %s leaves the state as it is', async (_, reply, code) => {
    const machine = await start()
    await mint(machine, DROPPED)
    server.onRequest = (endpoint) => (endpoint === 'aliasreferences' ? reply : undefined)
    await expect(apply(machine, rows)).rejects.toMatchObject({ code })
    server.onRequest = () => undefined
    await apply(machine, rows)
    expect([server.titles, server.aliased]).toEqual([
      ['A', 'B', 'C'],
      ['A', 'B', 'C'],
    ])
  })
})
