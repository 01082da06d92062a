/** @module-tag slow */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeEach, expect, test } from 'vitest'
import { readManifest } from '../../src/manifest/read.ts'
import { pngNamed } from '../helpers/images.ts'
import { runs } from '../helpers/runs.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { ALICE, BOB, OPTIONS } from './helpers.ts'

let folder: string
beforeEach(async () => {
  folder = await temporaryFolder('gdn-suggest-')
  await mkdir(join(folder, 'media'))
  for (const name of ['1.png', '2.png', 'a.blend', 'b.blend'])
    await writeFile(join(folder, 'media', name), pngNamed(name))
})

async function hintsOf(content: string, options = {}, name = 'drop.csv') {
  await writeFile(join(folder, name), content)
  const hints: Record<string, string | undefined> = {}
  for await (const item of readManifest({ path: join(folder, name) }, { ...OPTIONS, ...options })) {
    if (!('issue' in item)) continue
    const [, column] = /^unknown column "(.*)"$/s.exec(item.issue.message) ?? []
    if (column !== undefined) hints[column] = item.issue.hint
  }
  return hints
}

const HEAD = 'title,description,receiver'
const IN_PROJECT =
  'To set this for every command, save `map` or `unknown_columns` in gdn.config.json in the current folder.'
const rows = (...cells: string[]) => cells.map((cell) => `Dawn,x,${ALICE},${cell}\n`).join('')

test.each([
  ['paths of files', 'media/1.png', 'media/2.png'],
  ['URLs', 'https://example.com/1.jpg?w=1', 'https://example.com/2.webp'],
  ['stored files', 'ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG/1', 'ar://abc'],
  ['names of missing files, between empty cells', '', 'new folder/ä.PNG'],
])('cells that name images suggest image: %s', async (_what, ...cells) => {
  expect(await hintsOf(`${HEAD},Bild\n${rows(...cells)}`)).toEqual({
    Bild: `The cells of the column contain images: add --map Bild=image. ${IN_PROJECT}`,
  })
})

test('a second column of images, and one of other files, become files', async () => {
  const cells = rows('media/1.png,media/2.png,media/a.blend', 'media/2.png,media/1.png,media/b.blend')
  expect(await hintsOf(`${HEAD},Bild,Rückseite,Modell\n${cells}`)).toEqual({
    Bild: 'The cells of the column contain images: add --map Bild=image.',
    Rückseite: "The cells of the column contain images: add --map 'Rückseite=file:Rückseite'.",
    Modell: `The cells of the column contain files: add --map Modell=file:Modell. ${IN_PROJECT}`,
  })
  expect(await hintsOf(`${HEAD},image,Bild\n${rows('media/1.png,media/2.png')}`)).toEqual({
    Bild: `The cells of the column contain images: add --map Bild=file:Bild. ${IN_PROJECT}`,
  })
})

test('text suggests a missing title or description, and addresses a missing receiver', async () => {
  const sheet = `Titel,Text,Empfänger,Jahr,Bild\nDüne,Ein langer Abend am Meer,${ALICE},1999,media/1.png\nWatt,Noch ein Abend,${BOB},2001,media/2.png\n`
  expect(await hintsOf(sheet)).toEqual({
    Titel:
      'If the column contains the title of the NFT, rename the column to title, or add --map Titel=title. To ignore the column, add --map Titel=ignore. To make the column a public attribute, add --map Titel=attr:Titel.',
    Text: 'If the column contains the description of the NFT, rename the column to description, or add --map Text=description. To ignore the column, add --map Text=ignore. To make the column a public attribute, add --map Text=attr:Text.',
    Empfänger: "The cells of the column are addresses: add --map 'Empfänger=receiver'.",
    Jahr: expect.stringMatching(
      /^To ignore the column, add --map Jahr=ignore\. To make the column a public attribute, /,
    ),
    Bild: `The cells of the column contain images: add --map Bild=image. ${IN_PROJECT}`,
  })
  expect(await hintsOf(`title,receiver,Mood\nDawn,${ALICE},calm\n`)).toEqual({
    Mood: expect.stringContaining('add --map Mood=description.'),
  })
  expect(await hintsOf(`${HEAD},Mood\n${rows('calm')}`)).toEqual({
    Mood: expect.stringMatching(/^To ignore the column/),
  })
})

test('an address as the name of a column suggests a list of receivers', async () => {
  expect(await hintsOf(`${ALICE}\n${BOB}\n`)).toMatchObject({
    [ALICE]: expect.stringContaining('run `gdn batch mint <manifest> --to <list>`'),
  })
})

test('different cells without spaces suggest a missing id', async () => {
  const cells = (codes: readonly string[]) => codes.map((code) => `${code},Piece ${code},x,${ALICE}\n`).join('')
  const codes = ['A-1', 'A-2', 'A-3', 'B-1', 'B-2']
  const columns = 'title,description,receiver'
  expect(await hintsOf(`Code,${columns}\n${cells(codes)}`)).toEqual({
    Code: `If the column identifies the rows, rename the column to id, or add --map Code=id. To ignore the column, add --map Code=ignore. To make the column a public attribute, add --map Code=attr:Code. ${IN_PROJECT}`,
  })
  const ignored = expect.stringMatching(/^To ignore the column/)
  expect(await hintsOf(`Code,${columns}\n${cells([...codes, 'A-1'])}`)).toEqual({ Code: ignored })
  expect(await hintsOf(`Code,${columns}\n${cells(codes.slice(1))}`)).toEqual({ Code: ignored })
  const withIds = codes.map((code, index) => `${index},${code},Piece ${code},x,${ALICE}\n`).join('')
  expect(await hintsOf(`id,Code,${columns}\n${withIds}`)).toEqual({ Code: ignored })
})

test.each([
  ['Titel', 'Beschreibung'],
  ['Titre', 'Description courte'],
  ['Título', 'Descripción'],
  ['Naam', 'Omschrijving'],
])('the names %s and %s decide before the length of the cells', async (title, text) => {
  const cells = `Ein sehr langer Titel am Meer,Abend,${ALICE}\n`
  for (const sheet of [
    `${title},${text},receiver\n${cells}`,
    `${text},${title},receiver\nAbend,Ein langer Titel,${ALICE}\n`,
  ]) {
    expect(await hintsOf(sheet)).toEqual({
      [title]: expect.stringContaining('If the column contains the title of the NFT'),
      [text]: expect.stringContaining('If the column contains the description of the NFT'),
    })
  }
})

test('keys of JSON rows get the same suggestions', async () => {
  const row = { title: 'Dawn', description: 'x', receiver: ALICE, Bild: 'media/1.png' }
  expect(await hintsOf(JSON.stringify([row, row]), {}, 'drop.json')).toEqual({
    Bild: `The cells of the column contain images: add --map Bild=image. ${IN_PROJECT}`,
  })
})

test('columns of a default map have their meanings, and may be missing', async () => {
  const options = {
    defaultMap: [
      ['Bild', 'image'],
      ['Mood', 'attr:Mood'],
    ] as const,
  }
  expect(await hintsOf(`${HEAD},bild\n${rows('media/1.png')}`, options)).toEqual({})
  const read = []
  for await (const item of readManifest({ path: join(folder, 'drop.csv') }, { ...OPTIONS, ...options })) read.push(item)
  expect(read).toMatchObject([{ row: { localFiles: [{ key: 'image' }] } }])
  expect(
    await hintsOf(`${HEAD},Bild\n${rows('media/1.png')}`, { ...options, columnMap: [['Bild', 'attr:Bild']] }),
  ).toEqual({})
})

test('any cells get a hint, and none an error', async () => {
  const cell = fc.oneof(
    fc.constantFrom('../../etc/passwd', '\\\\host\\share\\a.png', 'a\0b.png', '.', '/', 'media', 'NaN', '-1', ALICE),
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.webUrl(),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(cell, { minLength: 2, maxLength: 2 }), { maxLength: 5 }), async (cells) => {
      const objects = cells.map(([a, b]) => ({ title: 'A', description: 'B', receiver: ALICE, Q: a, 'é "': b }))
      const hints = await hintsOf(JSON.stringify(objects), {}, 'drop.json')
      for (const hint of Object.values(hints)) expect(hint).toMatch(/--map /)
    }),
    { numRuns: runs(100) },
  )
})
