import { beforeEach, describe, expect, test } from 'vitest'
import type { ManifestRow } from '../../src/manifest/row.ts'
import { ALICE, BOB, Machine, row, Server } from './world.ts'

let server: Server
let machine: Machine
beforeEach(async () => {
  server = new Server()
  machine = await Machine.start(server)
})

const IDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
const rows = IDS.map((id) => row(id))
/** The rows with the IDs in their order, as a spreadsheet fills a column. */
const filled = (some: readonly ManifestRow[]) => some.map((one, at) => ({ ...one, id: IDS[at] ?? null }))
const withoutFirst = filled(rows.slice(1))
const refused = (count: number, of: number, key: string, was: string) => ({
  code: 'edited_rows',
  message: expect.stringContaining(`${count} of ${of} edited rows have the previous content of another ID`),
  hint: expect.stringContaining(`row ${key} has the previous content of ID ${was}`),
})

describe('IDs that were renumbered after a row was removed', () => {
  test.each(['plan', 'apply', 'mint'] as const)(
    'stop %s, which sends nothing until --allow-exchanged',
    async (command) => {
      await machine.mint(rows)
      const sent = server.sent.length
      for (const adopt of [false, true]) {
        const done = machine[command]([...withoutFirst, row('x')], { adopt })
        await expect(done).rejects.toMatchObject(refused(7, 7, 'a', 'b'))
      }
      expect(server.sent).toHaveLength(sent)
      await machine[command]([...withoutFirst, row('x')], { allowExchanged: true, newRows: true })
    },
  )

  test('stop a mint of a finished run without a new row, each time', async () => {
    await machine.mint(rows)
    const rotated = filled([...rows.slice(1), ...rows.slice(0, 1)])
    for (const _ of [1, 2]) await expect(machine.mint(rotated)).rejects.toMatchObject(refused(8, 8, 'a', 'b'))
    await expect(machine.mint(rotated, { allowExchanged: true })).rejects.toMatchObject({ code: 'run_finished' })
  })

  test('stop a machine that has not minted them, also with the same label', async () => {
    const options = { label: 'drop.csv' }
    await machine.mint(rows, options)
    const another = await Machine.start(server)
    await expect(another.plan(withoutFirst, options)).rejects.toMatchObject({
      code: 'seems_minted',
      message: expect.stringContaining('6 rows have the content of the NFTs of other rows'),
      hint: expect.stringContaining('Row a has the content of the NFT of row b.'),
    })
    expect((await another.plan(withoutFirst, { ...options, allowExchanged: true })).counts).toMatchObject({ update: 7 })
  })

  test('are found after an apply, and beside edits', async () => {
    await machine.mint(rows)
    const edited = rows.map((one) => ({ ...one, metadata: { ...one.metadata, title: `${one.metadata.title}!` } }))
    await machine.applyAndNote(edited, ['update', 'transfer'])
    const shifted = filled(edited.slice(1)).map((one, at) => (at === 0 ? { ...one, receiver: BOB } : one))
    await expect(machine.plan(shifted)).rejects.toMatchObject(refused(6, 7, 'b', 'c'))
  })

  test('are found where the contents were exchanged on purpose before, and are exchanged back', async () => {
    await machine.mint(rows)
    await machine.applyAndNote(filled([...rows.slice(1), ...rows.slice(0, 1)]), ['update'], { allowExchanged: true })
    await expect(machine.mint(rows)).rejects.toMatchObject(refused(8, 8, 'a', 'h'))
  })

  test('IDs that were renumbered after a row was removed and another inserted stop a mint', async () => {
    await machine.mint(rows.slice(0, 7))
    const inserted = filled([row('n'), ...rows.slice(0, 7)])
    await expect(machine.mint(inserted)).rejects.toMatchObject(refused(6, 7, 'b', 'a'))
    expect(server.titles).toHaveLength(7)
  })
})

describe('rows that got other IDs', () => {
  const renamed = rows.map((one) => ({ ...one, id: `0${one.id}` }))

  test.each(['plan', 'mint'] as const)('stop %s of another manifest, unless --again is given', async (command) => {
    await machine.mint(rows)
    const sent = server.sent.length
    const another = { manifestPath: '/drops/another.csv' }
    await expect(machine[command]([...renamed, row('x')], another)).rejects.toMatchObject({
      code: 'seems_minted',
      message: expect.stringContaining(
        '8 rows of the manifest have the same content as rows with other IDs in another run',
      ),
    })
    expect(server.sent).toHaveLength(sent)
    await machine[command](renamed, { ...another, again: true })
  })

  test('may be minted where most rows are new', async () => {
    await machine.mint(rows.slice(0, 5))
    const more = ['p', 'q', 'r', 's', 't', 'u'].map((id) => row(id))
    await machine.mint([...renamed.slice(0, 5), ...more], { manifestPath: '/drops/another.csv' })
    expect(server.titles).toHaveLength(16)
  })
})

test('edits that give NFTs the content of one that stays are no renumbering', async () => {
  const same = rows.map((one, at) => row(one.id ?? '', ALICE, at === 0 ? 'VIP' : 'Standard'))
  await machine.mint(same)
  const edited = same.map((one, at) => (at < 7 ? row(one.id ?? '', ALICE, 'VIP') : one))
  expect((await machine.plan(edited)).counts).toMatchObject({ update: 6, unchanged: 2 })
})
