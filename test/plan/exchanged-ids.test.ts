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
    const another = await Machine.start(server)
    await expect(another.mint(withIds(rows, order))).rejects.toMatchObject(refused(count))
    await another.mint(rows)
    expect(server.titles).toHaveLength(6)
  })

  test('of rows with local files', async () => {
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
      titles: fc.array(fc.nat(6), { minLength: size, maxLength: size }),
      order: fc.shuffledSubarray(
        Array.from({ length: size }, (_, at) => at),
        { minLength: size, maxLength: size },
      ),
    }),
  )
  await fc.assert(
    fc.asyncProperty(sheet, async ({ titles, order }) => {
      const world = new Server()
      const minter = await Machine.start(world)
      const minted = titles.map((title, at) => row(`x${at}`, title % 2 === 0 ? ALICE : BOB, `T${title}`))
      await minter.mint(minted)
      const another = await Machine.start(world)
      const isSame = titles.every((title, at) => title === titles[order[at] ?? at])
      const minting = another.mint(withIds(minted, order))
      if (isSame) await minting
      else await expect(minting).rejects.toMatchObject({ code: 'seems_minted' })
      expect(world.titles).toHaveLength(titles.length)
    }),
    { numRuns: runs(20) },
  )
})
