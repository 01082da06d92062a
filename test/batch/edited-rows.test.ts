import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { BatchOptions } from '../../src/batch/types.ts'
import type { ManifestRow } from '../../src/manifest/row.ts'
import { FakeHostedApi } from '../helpers/fake-hosted-api.ts'
import { Machine } from './simulation.ts'
import { RECEIVERS, row, rowsUpTo } from './simulation-rows.ts'

let machine: Machine
let server: FakeHostedApi
beforeEach(async () => {
  machine = await Machine.start()
  server = new FakeHostedApi({ idempotency: false, now: machine.time.now })
})
afterEach(() => machine.stop())

const run = (rows: readonly ManifestRow[], options: Partial<BatchOptions> = {}) => machine.run(server, rows, options)

const titled = (number: number, title: string, changes: Partial<ManifestRow> = {}) =>
  row(number, { metadata: { ...row(number).metadata, title }, ...changes })

/** The rows with the typo of the second one fixed. */
const edited = () => [row(1), titled(2, '#2 fixed'), row(3)]

describe('a manifest that was edited after its rows were minted', () => {
  test('is not sent, and each missing row is shown beside the similar new one', async () => {
    await run(rowsUpTo(3))
    const attempts = server.attempts
    await expect(run(edited())).rejects.toMatchObject({
      code: 'edited_rows',
      exitCode: 2,
      hint: expect.stringMatching(/revert.*id column.*--new-rows/s),
      details: {
        vanished: 1,
        new: 1,
        pairs: [
          {
            line: 3,
            title: '#2',
            now: { line: 3, title: '#2 fixed' },
            changes: [{ field: 'title', from: '#2', to: '#2 fixed' }],
          },
        ],
      },
    })
    expect(server.attempts).toBe(attempts)
  })

  test('without IDs names the column that may have been sorted alone, and the rows that are burned', async () => {
    await run(rowsUpTo(4))
    const sorted = [titled(1, '#4'), titled(2, '#1'), titled(3, '#2'), titled(4, '#3')]
    const hint = /If the column title was sorted or shifted without the others, restore it\..*remove the burned rows/s
    await expect(run(sorted)).rejects.toMatchObject({ code: 'edited_rows', hint: expect.stringMatching(hint) })
    const oneEdited = [row(1), titled(2, '#2 fixed'), row(3), row(4)]
    await expect(run(oneEdited)).rejects.toMatchObject({ hint: expect.not.stringContaining('sorted') })
  })

  test('pairs a missing row with the row that resembles it, not with the one on its line', async () => {
    const lion = (title: string, line: number) => titled(1, title, { line })
    const bear = (title: string, line: number) => titled(2, title, { line })
    await run([lion('a golden lion', 2), bear('a silver bear', 3)])
    await expect(run([bear('one silver bear', 2), lion('one golden lion', 3)])).rejects.toMatchObject({
      details: {
        pairs: [
          { line: 2, title: 'a golden lion', now: { line: 3, title: 'one golden lion' } },
          { line: 3, title: 'a silver bear', now: { line: 2, title: 'one silver bear' } },
        ],
      },
    })
  })

  test('names the missing rows in the order of the manifest, however they were sent', async () => {
    await run(rowsUpTo(4))
    await expect(run([1, 2, 3, 4].map((number) => titled(number, `#${number} fixed`)))).rejects.toMatchObject({
      details: { pairs: [{ line: 2 }, { line: 3 }, { line: 4 }, { line: 5 }] },
    })
  })

  test('pairs no rows that share few fields, and each new row once', async () => {
    await run(rowsUpTo(2))
    const unlike = { title: 'Other', description: 'else', file_fields: [] }
    await expect(run([{ ...row(6), metadata: unlike }])).rejects.toMatchObject({
      details: {
        pairs: [
          { title: '#1', now: null, changes: [] },
          { title: '#2', now: null, changes: [] },
        ],
      },
    })
    await expect(run([titled(1, '#1 fixed')])).rejects.toMatchObject({
      details: {
        pairs: [
          { title: '#1', now: { title: '#1 fixed' } },
          { title: '#2', now: null },
        ],
      },
    })
  })

  test('resumes once the edit is reverted, and mints rows that are only added', async () => {
    await run(rowsUpTo(3))
    await run(edited()).catch(() => {})
    expect((await run(rowsUpTo(4))).counts.deployed).toBe(4)
    expect(server.minted.size).toBe(4)
  })

  test('resumes if rows were only removed', async () => {
    await run(rowsUpTo(3), { wait: false })
    expect((await run(rowsUpTo(2))).counts.deployed).toBe(3)
    expect(server.minted.size).toBe(3)
  })

  test('is also rejected if a row was removed in one start, and returns edited in the next', async () => {
    await run(rowsUpTo(3), { wait: false })
    await run([row(1), row(3)])
    await expect(run(edited())).rejects.toMatchObject({ code: 'edited_rows', details: { vanished: 1 } })
  })

  test('mints the new rows in addition with --new-rows, and prompts once for each edit', async () => {
    await run(rowsUpTo(3))
    expect((await run(edited(), { newRows: true })).counts.deployed).toBe(4)
    expect((await run([...edited(), row(4)])).counts.deployed).toBe(5)
    await expect(run([titled(1, '#1 fixed'), ...edited().slice(1), row(4)])).rejects.toMatchObject({
      details: { vanished: 1, new: 1 },
    })
    expect(server.minted.size).toBe(5)
  })

  describe('with --new-rows, whose removed rows are in the manifest again', () => {
    const removed = async () => {
      await run(rowsUpTo(3))
      await run([row(3), row(4)], { newRows: true })
    }
    const withIds = () => rowsUpTo(4).map((each, at) => ({ ...each, id: `id-${at}`, line: at + 2 }))

    test('keeps their NFTs if the rows have IDs now', async () => {
      await removed()
      expect((await run(withIds())).counts.deployed).toBe(4)
      expect(server.minted.size).toBe(4)
    })

    test('keeps their NFTs if the rows get IDs later', async () => {
      await removed()
      await expect(run(rowsUpTo(4))).rejects.toMatchObject({ code: 'run_finished' })
      expect((await run(withIds())).counts.deployed).toBe(4)
      expect(server.minted.size).toBe(4)
    })

    test('is rejected if one of them is edited without an ID', async () => {
      await removed()
      await expect(run(rowsUpTo(4))).rejects.toMatchObject({ code: 'run_finished' })
      await expect(run([titled(1, '#1 fixed'), ...rowsUpTo(4).slice(1)])).rejects.toMatchObject({
        code: 'edited_rows',
        details: { vanished: 1, new: 1 },
      })
      expect(server.minted.size).toBe(4)
    })
  })

  test('is rejected with --new-rows if a row only lost its ID', async () => {
    const ids = (count: number) => rowsUpTo(count).map((each) => ({ ...each, id: `id-${each.line}` }))
    await run(ids(2))
    const [one, two, three] = ids(3) as [ManifestRow, ManifestRow, ManifestRow]
    await expect(run([one, { ...two, id: null }, three], { newRows: true })).rejects.toMatchObject({
      code: 'edited_rows',
      message: expect.stringContaining('\n  line 3: the NFT of row id-3'),
    })
    expect(server.minted.size).toBe(2)
    expect((await run([one, three], { newRows: true })).counts.deployed).toBe(3)
  })

  test('is rejected while the outcome of the missing row is unknown', async () => {
    server = new FakeHostedApi({
      idempotency: false,
      now: machine.time.now,
      faultOf: (attempt) => (attempt === 1 ? { fault: 'cut_after' } : null),
    })
    await run([row(1)], { wait: false })
    await expect(run([titled(1, '#1 fixed')], { wait: false })).rejects.toMatchObject({ code: 'edited_rows' })
  })

  test('reports a changed receiver', async () => {
    await run([row(1)])
    const [to = ''] = RECEIVERS
    await expect(run([row(1, { receiver: to })])).rejects.toMatchObject({
      details: {
        pairs: [{ changes: [{ field: 'receiver', from: row(1).receiver, to }] }],
      },
    })
  })

  test('is recognized by its rows if the file was renamed', async () => {
    await run(rowsUpTo(3), { manifestPath: '/drops/drop.csv' })
    await expect(run(edited(), { manifestPath: '/drops/renamed.csv' })).rejects.toMatchObject({
      code: 'edited_rows',
      details: { pairs: [{ title: '#2', now: { title: '#2 fixed' } }] },
    })
    expect(server.minted.size).toBe(3)
  })

  test('starts another drop into the same collection if all rows are new', async () => {
    await run(rowsUpTo(2), { manifestPath: '/drops/a.csv' })
    expect((await run([row(3), row(4)], { manifestPath: '/drops/b.csv' })).counts.deployed).toBe(2)
  })
})

describe('an id column that is added to a minted manifest', () => {
  const named = (count: number) => rowsUpTo(count).map((one, at) => ({ ...one, id: `row-${at + 1}` }))

  test('does not mint the rows again: they keep their NFTs, and new rows are minted', async () => {
    await run(rowsUpTo(3))
    const summary = await run(named(4))
    expect(summary.counts).toMatchObject({ total: 4, deployed: 4 })
    expect(server.minted.size).toBe(4)
    expect(server.countsByTitle().get('#1')).toBe(1)
  })

  test('is stored, so that the rows can be edited afterwards and are not minted again', async () => {
    await run(rowsUpTo(2))
    await run(named(3))
    const changed = named(3).map((one) => ({ ...one, metadata: { ...one.metadata, title: `${one.metadata.title}!` } }))
    await run([...changed, row(4, { id: 'row-4' })])
    expect(server.minted.size).toBe(4)
  })

  test('gives each copy of the same content its own NFT', async () => {
    const copies = [row(1), row(1, { line: 3 })]
    await run(copies)
    await run([...copies.map((one, at) => ({ ...one, id: `copy-${at}` })), row(2)])
    expect(server.minted.size).toBe(3)
  })

  test('leaves the other copies of the same content to rows without an ID that return later', async () => {
    const copies = [row(1), row(1, { line: 3 }), row(1, { line: 4 })]
    await run(copies)
    await run([{ ...row(1), id: 'copy' }])
    await expect(run([{ ...row(1), id: 'copy' }, ...copies.slice(1)])).rejects.toMatchObject({ code: 'run_finished' })
    expect(server.minted.size).toBe(3)
  })

  test('is recognized in a copy of the manifest under another path too', async () => {
    await run(rowsUpTo(2), { manifestPath: '/drops/a.csv' })
    await expect(run(named(2), { manifestPath: '/drops/b.csv' })).rejects.toMatchObject({
      code: 'already_accepted',
      details: { count: 2 },
    })
  })
})

describe('rows that left the manifest, and return after it was moved with its images', () => {
  const withImages = async (folder: string, titles: string, hasIds = false) => {
    await mkdir(join(machine.stateDir, folder), { recursive: true })
    const rows: ManifestRow[] = []
    for (const [at, title] of [...titles].entries()) {
      const path = join(machine.stateDir, folder, `${title}.png`)
      await writeFile(path, title)
      const metadata = { title, description: 'd', file_fields: [{ key: 'image', url: '' }] }
      rows.push(row(1, { line: at + 2, id: hasIds ? title : null, metadata, localFiles: [{ key: 'image', path }] }))
    }
    return rows
  }
  const mint = async (folder: string, rows: ManifestRow[], options: Partial<BatchOptions> = {}) => {
    const manifestPath = join(machine.stateDir, folder, 'drop.csv')
    await writeFile(manifestPath, '')
    await run(rows, { manifestPath, ...options }).catch(({ code }) => expect(code).toBe('run_finished'))
  }

  test.each([
    ['at once', 'BCA', false],
    ['later', 'BC', false],
    ['at once, with IDs', 'BCA', true],
  ])('are not minted again: %s', async (_, moved, hasIds) => {
    await mint('old', await withImages('old', 'AB'))
    await mint('old', await withImages('old', 'BC'), { newRows: true })
    await rm(join(machine.stateDir, 'old'), { recursive: true })
    await mint('new', await withImages('new', moved, hasIds), { adopt: true })
    await mint('new', await withImages('new', 'BCA', hasIds))
    expect(Object.fromEntries(server.countsByTitle())).toEqual({ A: 1, B: 1, C: 1 })
  })
})
