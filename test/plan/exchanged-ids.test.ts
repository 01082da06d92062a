import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import type { ManifestRow } from '../../src/manifest/row.ts'
import { runs } from '../helpers/runs.ts'
import { ALICE, BOB, Machine, row, Server } from './world.ts'

let server: Server
let machine: Machine
beforeEach(async () => {
  server = new Server()
  machine = await Machine.start(server)
})

const IDS = ['1', '2', '3', '4', '5', '6']
const rows = IDS.map((id, at) => row(id, at % 2 === 0 ? ALICE : BOB, `T${id}`))

/** The rows with the IDs of the rows at other positions. */
const withIds = (some: readonly ManifestRow[], order: readonly number[]): ManifestRow[] =>
  some.map((one, at) => ({ ...one, id: some[order[at] ?? at]?.id ?? null }))

const refused = (count: number) => ({
  code: 'seems_minted',
  message: expect.stringMatching(new RegExp(`^${count} rows have the `, 'u')),
  details: expect.objectContaining({ count }),
})

describe('IDs that were exchanged stop a machine that has not minted them', () => {
  test.each([
    ['in the opposite order', [5, 4, 3, 2, 1, 0], 6],
    ['two of them', [0, 4, 2, 3, 1, 5], 2],
  ])('%s', async (_, order, count) => {
    await machine.mint(rows)
    const sent = server.sent.length
    const another = await Machine.start(server)
    const exchanged = withIds(rows, order)
    for (const adopt of [false, true]) {
      for (const command of ['mint', 'plan', 'apply'] as const) {
        await expect(another[command](exchanged, { adopt })).rejects.toMatchObject(refused(count))
      }
    }
    expect(server.sent).toHaveLength(sent)
    expect((await another.plan(exchanged, { allowExchanged: true })).counts).toMatchObject({ update: count })
    await another.mint(rows)
    expect(server.titles).toHaveLength(6)
  })

  test('until --allow-exchanged, with which a mint uses these NFTs for the rows', async () => {
    await machine.mint(rows)
    const another = await Machine.start(server)
    await another.mint(withIds(rows, [0, 4, 2, 3, 1, 5]), { allowExchanged: true })
    expect(server.titles).toHaveLength(6)
  })

  test('IDs that were exchanged stop another machine also if only one column was sorted, where --adopt would use the NFTs', async () => {
    const described = (of: number, at: number) => ({ ...row(IDS[at] ?? '').metadata, description: `About ${IDS[of]}` })
    const both = rows.map((one, at) => ({ ...one, metadata: described(at, at) }))
    await machine.mint(both)
    const another = await Machine.start(server)
    const sorted = both.map((one, at) => ({ ...one, metadata: described(5 - at, at) }))
    await expect(another.mint(sorted)).rejects.toMatchObject({ code: 'seems_minted' })
    await expect(another.mint(sorted, { adopt: true })).rejects.toMatchObject({
      code: 'edited_rows',
      message: expect.stringContaining('6 of 6 rows with a changed description get the description of another row'),
    })
    await another.mint(sorted, { adopt: true, allowExchanged: true })
  })

  test('beside a row that only another one has the content of', async () => {
    await machine.mint(rows)
    const chain = rows.map((one, at) => (at === 0 ? row('1', ALICE, 'T2') : at === 1 ? row('2', BOB, 'new') : one))
    const another = await Machine.start(server)
    await expect(another.plan(chain)).rejects.toMatchObject({ code: 'seems_minted', details: { count: 1 } })
  })

  test('IDs that were exchanged do not stop another machine where rows get the content of a row that keeps it', async () => {
    const kinds = rows.map((one, at) => row(one.id ?? '', ALICE, at < 3 ? 'VIP' : 'Standard'))
    await machine.mint(kinds)
    const edited = kinds.map((one, at) => (at === 0 ? kinds[5] : at === 5 ? kinds[0] : one))
    const another = await Machine.start(server)
    const moved = edited.map((one, at) => ({ ...(one ?? row('x')), id: IDS[at] ?? null }))
    expect((await another.plan(moved)).counts).toMatchObject({ update: 2 })
  })

  test('IDs that were exchanged stop another machine for rows with local files', async () => {
    const pathOf = (id: string | null) => join(machine.stateDir, `${id}.png`)
    const withFiles = rows.map((one) => ({ ...one, localFiles: [{ key: 'image', path: pathOf(one.id) }] }))
    for (const id of IDS) await writeFile(pathOf(id), id)
    await machine.mint(withFiles)
    const another = await Machine.start(server)
    await expect(another.mint(withIds(withFiles, [1, 0]))).rejects.toMatchObject(refused(2))
    await another.mint(withFiles)
  })
})

test('a mint on another machine accepts IDs only if each names an NFT with the content and owner of its row', async () => {
  const sheet = fc.integer({ min: 2, max: 9 }).chain((size) =>
    fc.record({
      adopt: fc.boolean(),
      titles: fc.array(fc.nat(6), { minLength: size, maxLength: size }),
      order: fc.shuffledSubarray(
        Array.from({ length: size }, (_, at) => at),
        { minLength: size, maxLength: size },
      ),
    }),
  )
  await fc.assert(
    fc.asyncProperty(sheet, async ({ titles, order, adopt }) => {
      const world = new Server()
      const minter = await Machine.start(world)
      const minted = titles.map((title, at) => row(`x${at}`, title % 2 === 0 ? ALICE : BOB, `T${title}`))
      await minter.mint(minted)
      const another = await Machine.start(world)
      const isSame = titles.every((title, at) => title === titles[order[at] ?? at])
      const minting = another.mint(withIds(minted, order), { adopt })
      if (isSame) await minting
      else await expect(minting).rejects.toMatchObject({ code: 'seems_minted' })
      expect(world.titles).toHaveLength(titles.length)
    }),
    { numRuns: runs(20) },
  )
})
