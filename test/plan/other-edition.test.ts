import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { ManifestRow } from '../../src/manifest/row.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { Machine, row, Server } from './world.ts'

let machine: Machine
beforeEach(async () => {
  machine = await Machine.start(new Server())
})

/** An edition in which each row has the attributes of another one. */
const edition = (size: number, drawn: (number: number) => number): ManifestRow[] =>
  Array.from({ length: size }, (_, index) => {
    const one = row(String(index + 1))
    const attribute = [{ tag: 'Sky', value: `Sky ${drawn(index)}` }]
    return { ...one, metadata: { ...one.metadata, attribute } }
  })

const before = edition(8, (index) => index)
const NOTE = '8 of the 8 minted rows have different content: this manifest may belong to another edition'

/** Returns the path of a manifest in a folder with an edition.json. */
async function generated(): Promise<string> {
  const folder = await temporaryFolder('gdn-edition-')
  await writeFile(join(folder, 'edition.json'), '{}')
  return join(folder, 'manifest.csv')
}

describe('a plan notes that the manifest may belong to another edition, instead of a sorted column,', () => {
  test('if most minted rows have other content and rows are new', async () => {
    await machine.mint(before)
    const { counts, notes } = await machine.plan(edition(10, (index) => 7 - index))
    expect(counts).toMatchObject({ update: 8, mint: 2 })
    expect(notes).toEqual([NOTE])
  })

  test('if most minted rows have other content and an edition.json is beside the manifest', async () => {
    const manifestPath = await generated()
    await machine.mint(before, { manifestPath })
    expect(
      (
        await machine.plan(
          edition(8, (index) => 7 - index),
          { manifestPath },
        )
      ).notes,
    ).toEqual([NOTE])
  })
})

describe('a plan does not note another edition', () => {
  test.each([
    ['if few rows were edited', 8, 3],
    ['if fewer than 3 rows were edited, even if these are most', 4, 2],
  ])('%s', async (_, size, edited) => {
    const manifestPath = await generated()
    await machine.mint(before.slice(0, size), { manifestPath })
    const now = edition(size + 1, (index) => (index < edited ? 100 + index : index))
    expect((await machine.plan(now, { manifestPath })).notes).toEqual([])
  })

  test('if all rows of a manifest that was not generated were edited', async () => {
    await machine.mint(before)
    const { counts, notes } = await machine.plan(edition(8, (index) => 100 + index))
    expect([counts.update, notes]).toEqual([8, []])
  })

  test('if only images changed', async () => {
    const manifestPath = await generated()
    const withImages = (version: number) =>
      before.map((one, index) => {
        const file_fields = [{ key: 'image', url: `https://files.example/${version}/${index}.png` }]
        return { ...one, metadata: { ...one.metadata, file_fields } }
      })
    await machine.mint(withImages(1), { manifestPath })
    const { counts, notes } = await machine.plan(withImages(2), { manifestPath })
    expect([counts.update, notes]).toEqual([8, []])
  })
})
