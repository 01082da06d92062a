/** @module-tag slow */
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rename, symlink, utimes, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import Papa from 'papaparse'
import sharp from 'sharp'
import { describe, expect, test } from 'vitest'
import { hashPixels } from '../../src/art/render/renderer.ts'
import { validateManifest } from '../../src/manifest/read.ts'
import { cli, errorOf } from '../cli/harness.ts'
import { gdnAt } from '../helpers/gdn-at.ts'
import { createSmallDisk } from '../helpers/small-disk.ts'
import { type ArtFolder, artFolder, layerImage, NO_SERVER } from './generated.ts'

/** Runs `gdn art generate` in this process, in the folder. */
const generateTo = async ({ path }: ArtFolder, out: string, ...flags: string[]) =>
  await cli(['art', 'generate', 'art.yaml', '--count', '12', '--out', out, '--threads', '1', ...flags], {
    cwd: path('.'),
  })

const generate = async (folder: ArtFolder, ...flags: string[]) => await generateTo(folder, 'drop', ...flags)

const names = async ({ path }: ArtFolder) => (await readdir(path('.'))).filter((name) => name.includes('drop')).sort()

const rowsOf = async ({ path }: ArtFolder) =>
  Papa.parse<Record<string, string>>(await readFile(path('drop/manifest.csv'), 'utf8'), {
    header: true,
    skipEmptyLines: true,
  }).data

test('writes images, a manifest that gdn reads, and the hashes of files and pixels', async () => {
  const folder = await artFolder()
  expect(await generate(folder, '--json')).toMatchObject({ code: 0 })
  const rows = await rowsOf(folder)
  expect(rows.length).toBe(12)
  expect(rows[1]).toEqual({
    id: '2',
    title: 'The Whale',
    description: 'One of many',
    image: 'images/2.gif',
    'attr:Sky': 'Whale',
    'attr(number,max=9):Level': '',
    'attr:Hat': '',
    'attr:Special': '=cmd',
  })
  const hats = rows.map((row) => row['attr:Hat'])
  expect(new Set(hats)).toEqual(new Set(['', 'Cap', 'Crown']))
  const options = { blockchain: 'polygon', receiver: `0x${'1'.repeat(40)}`, localFiles: true } as const
  expect(await validateManifest({ path: folder.path('drop/manifest.csv') }, options)).toMatchObject({
    issueCount: 0,
    rows: 12,
  })
  const { images } = JSON.parse(await readFile(folder.path('drop/edition.json'), 'utf8'))
  expect(images[0]).toEqual({
    number: 1,
    file: 'images/1.png',
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    pixels: expect.stringMatching(/^[0-9a-f]{64}$/),
  })
  expect(images[1].pixels).toBe(null)
  expect(await names(folder)).toEqual(['drop'])
})

test('an image shows the layers of its row, from the bottom to the top', async () => {
  const folder = await artFolder()
  await folder.write('art.yaml', (await readFile(folder.path('art.yaml'), 'utf8')).replaceAll('multiply', 'normal'))
  await generate(folder)
  const [row] = await rowsOf(folder)
  const sky = ['Blue', 'Red', 'Gray'].indexOf(row?.['attr:Sky'] ?? '')
  const level = ['1', '2', '3'].indexOf(row?.['attr(number,max=9):Level'] ?? '')
  const below = await sharp(await layerImage(0, sky))
    .raw()
    .toBuffer()
  const above = await sharp(await layerImage(1, level))
    .raw()
    .toBuffer()
  const made = await sharp(await readFile(folder.path('drop/images/1.png')))
    .raw()
    .toBuffer()
  // Pixels where the hat is transparent.
  const hat = new Set<number>()
  for (let trait = 0; trait < 3; trait++) {
    const pixels = await sharp(await layerImage(2, trait))
      .raw()
      .toBuffer()
    for (let at = 0; at < pixels.length; at += 4) if (pixels[at + 3] !== 0) hat.add(at)
  }
  let compared = 0
  for (let at = 0; at < made.length; at += 4) {
    if (hat.has(at)) continue
    const source = above[at + 3] === 0 ? below : above
    expect([...made.subarray(at, at + 4)]).toEqual([...source.subarray(at, at + 4)])
    compared++
  }
  expect(compared).toBeGreaterThan(100)
})

test('--from and --only make those images of the whole edition', async () => {
  const folder = await artFolder()
  await generate(folder)
  const whole = await folder.files('drop')
  await rename(folder.path('drop'), folder.path('whole'))
  await generate(folder, '--from', '5', '--only', '3')
  const part = await folder.files('drop')
  expect([...part.keys()].filter((name) => name.startsWith('images'))).toEqual(
    [5, 6, 7].map((number) => `images/${number}.png`),
  )
  for (const [name, bytes] of part) if (name.startsWith('images')) expect(bytes).toBe(whole.get(name))
  const html = await readFile(folder.path('drop/art.html'), 'utf8')
  const shown = [...html.matchAll(/id="g\d-(\d+)"/g)].map(([, number]) => Number(number)).sort()
  expect(shown).toEqual([5, 6, 7])
  expect(html).not.toMatch(/<script|No image/)
})

test('writes a page with wanted and actual numbers, rules that bind, one-of-ones and rarity', async () => {
  const folder = await artFolder()
  const art = await readFile(folder.path('art.yaml'), 'utf8')
  const rules = 'rules:\n  - { if: Sky/Red, requires: Hat/Crown }\n  - { if: Hat/Cap, excludes: Sky/Gray }\n'
  await folder.write(
    'art.yaml',
    `collection: Tides\n${art.replace('Cap: { file: 2-0.png }', 'Cap: { file: 2-0.png, count: 2 }')}${rules}`,
  )
  const { stdout } = await generate(folder, '--json')
  const html = await readFile(folder.path('drop/art.html'), 'utf8')
  const text = (part: string) =>
    part
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll('&quot;', '"')
      .replaceAll(/\s+/g, ' ')
      .trim()
  const tables = [...html.matchAll(/<caption>(.*?)<\/caption>.*?<tbody>(.*?)<\/tbody>/gs)].map(
    ([, caption = '', body = '']) =>
      [text(caption), [...body.matchAll(/<tr>(.*?)<\/tr>/gs)].map(([, row = '']) => text(row))] as const,
  )
  const rowsAt = (caption: string) => tables.find(([name]) => name === caption)?.[1] ?? []
  expect(tables.map(([caption]) => caption)).toEqual([
    'Sky',
    'Level',
    'Hat',
    'Rules of this edition',
    'The rarest NFTs',
  ])
  const rows = (await rowsOf(folder)).filter(({ id }) => id !== '2')
  for (const [row, sky] of [...rowsAt('Sky').entries()].map(
    ([at, row]) => [row, ['Blue', 'Red', 'Gray'][at]] as const,
  )) {
    const made = rows.filter((one) => one['attr:Sky'] === sky).length
    // 11 NFTs from layers: 25 % of them are 3, 50 % are 5, with the largest remainders.
    const expected = sky === 'Red' ? 5 : 3
    const off = made === expected ? '' : ` ${made > expected ? '+' : ''}${made - expected}`
    expect(row).toBe(`${sky} ${expected} ${made}${off} ${((made / 11) * 100).toFixed(1)}%`)
  }
  expect(rowsAt('Hat')[0]).toMatch(/^Cap 2 exact 2 /)
  expect(rowsAt('Rules of this edition')).toEqual([
    expect.stringMatching(/^"Sky\/Red" requires "Hat\/Crown" binding \d+ /),
    expect.stringMatching(/^"Hat\/Cap" excludes "Sky\/Gray" (?!binding)/),
  ])
  expect(html).toContain("The weights can't be met, because these rules and counts contradict each other")
  expect(rowsAt('The rarest NFTs')[0]).toMatch(/^1 #2 The Whale [\d.]+ One-of-one/)
  expect(html).toMatch(/<section aria-label="One-of-ones">.*The Whale/s)
  expect(JSON.parse(stdout).deviations.length).toBeGreaterThan(0)
})

test('shows the number of images, the rate and the time left', async () => {
  const folder = await artFolder()
  const art = await readFile(folder.path('art.yaml'), 'utf8')
  // Images that take longer than the display needs for its next line.
  await folder.write('art.yaml', `${art}output: { width: 700, height: 700 }\n`)
  const argv = ['art', 'generate', 'art.yaml', '--count', '12', '--out', 'drop', '--threads', '1', '--fit', 'fill']
  const { code, stderr } = await cli(argv, { cwd: folder.path('.'), tty: true, stderrTty: true, columns: 200 })
  expect(code, stderr).toBe(0)
  expect(stderr).toMatch(/Generating images: \d+ of 12, \d+\.\d\/s, about .+ left/)
})

test('replaces its own folder whole, and keeps the former one beside it', async () => {
  const folder = await artFolder()
  await generate(folder)
  const before = await folder.files('drop')
  const { stdout } = await generate(folder, '--seed', 'other', '--json')
  expect(JSON.parse(stdout).former_folder).toBe('drop.before-1')
  expect(await folder.files('drop.before-1')).toEqual(before)
  expect(await folder.files('drop')).not.toEqual(before)
})

test('warns how many NFTs of the former edition have other content under the same number', async () => {
  const folder = await artFolder()
  await generate(folder)
  const before = await rowsOf(folder)
  const { stderr } = await generate(folder, '--seed', 'other')
  const now = await rowsOf(folder)
  const changed = before.filter((row, index) => JSON.stringify(row) !== JSON.stringify(now[index])).length
  expect(changed).toBeGreaterThan(3)
  expect(stderr).toContain(
    `${changed} of the 12 rows of the former manifest now have different content under the same number. If NFTs were minted from the former manifest`,
  )
  expect(stderr).toContain(
    'To change these NFTs, run `gdn plan drop/manifest.csv`. To restore the former edition, move',
  )
  expect(stderr).toContain('rename drop.before-1 to drop.')
  expect(stderr).toContain('To allow changes to rows or images after the mint, mint with --dynamic')
  // JSON has the number instead of the warning.
  expect(JSON.parse((await generate(folder, '--json')).stdout)).toMatchObject({ changed_rows: changed })
  await generate(folder, '--seed', 'other')
  // Other formats change only the paths of the images.
  await folder.write('art.yaml', `${await readFile(folder.path('art.yaml'), 'utf8')}output: { format: webp }\n`)
  const converted = await generate(folder, '--seed', 'other')
  expect(converted.stderr).toContain('The former folder is now drop.before-4.')
  expect(converted.stderr).not.toContain('other content')
})

test('warns how many NFTs of the former edition are missing in a part of it', async () => {
  const folder = await artFolder()
  await generate(folder)
  const { stderr } = await generate(folder, '--from', '5', '--only', '3')
  expect(stderr).toContain(
    '9 of the 12 rows of the former manifest are missing from the new manifest. The rows remain in drop.before-1.',
  )
  expect((await generate(folder)).stderr).not.toContain('of the former manifest')
})

test('replaces an empty folder without keeping it', async () => {
  const folder = await artFolder()
  await mkdir(folder.path('drop'))
  expect(JSON.parse((await generate(folder, '--json')).stdout)).toMatchObject({ former_folder: null })
  expect(await names(folder)).toEqual(['drop'])
})

test('rejects --only beyond the count', async () => {
  const result = await generate(await artFolder(), '--from', '8', '--only', '6', '--json')
  expect(result.code).toBe(2)
  expect(errorOf(result)).toMatchObject({
    message: expect.stringContaining('exceeds the number of NFTs from 8 to 12'),
    hint: 'Use at most 5.',
  })
})

test('leaves a complete folder of the same edition unchanged, and repairs a damaged one', async () => {
  const folder = await artFolder()
  await generate(folder)
  const before = await folder.files('drop')
  expect(JSON.parse((await generate(folder, '--json')).stdout)).toMatchObject({
    made: 0,
    kept: 12,
    former_folder: null,
  })
  await writeFile(folder.path('drop/images/3.png'), 'damaged')
  expect(JSON.parse((await generate(folder, '--json')).stdout)).toMatchObject({
    made: 1,
    copied: 1,
    kept: 10,
    former_folder: 'drop.before-1',
  })
  expect(await folder.files('drop')).toEqual(before)
})

test('an edited manifest stays if the edition is the same, and is named with its new place if another one replaces it', async () => {
  const folder = await artFolder()
  await generate(folder)
  const text = (await readFile(folder.path('drop/manifest.csv'), 'utf8')).replace('The Whale', 'Moby')
  await writeFile(folder.path('drop/manifest.csv'), text)
  const sameResult = await generate(folder)
  expect(sameResult.stderr).toContain('drop/manifest.csv: was changed after it was generated: gdn kept your version')
  expect(await readFile(folder.path('drop/manifest.csv'), 'utf8')).toBe(text)
  const other = await generate(folder, '--seed', 'other')
  expect(other.stderr).toContain(
    'drop/manifest.csv: was changed after it was generated: your version is now drop.before-1/manifest.csv',
  )
  expect(await readFile(folder.path('drop.before-1/manifest.csv'), 'utf8')).toBe(text)
  expect((await generate(folder, '--seed', 'third')).stderr).not.toContain('was changed')
})

test('counts NFTs of which only the image changed among those with other content', async () => {
  const folder = await artFolder()
  await generate(folder)
  const isBig = ({ 'attr:Hat': hat }: Record<string, string>) => hat === 'Cap'
  const isRed = ({ 'attr:Sky': sky }: Record<string, string>) => sky === 'Red'
  const rows = await rowsOf(folder)
  const [changed, onlyImage] = [
    rows.filter((row) => isBig(row) || isRed(row)).length,
    rows.filter((row) => isRed(row) && !isBig(row)).length,
  ]
  expect(onlyImage).toBeGreaterThan(0)
  expect(changed).toBeGreaterThan(onlyImage)
  await folder.write('0-1.png', await layerImage(0, 9))
  const art = await readFile(folder.path('art.yaml'), 'utf8')
  await folder.write('art.yaml', art.replace('Cap: { file: 2-0.png }', 'Cap: { file: 2-0.png, value: Big cap }'))
  const { stdout } = await generate(folder, '--json')
  const { changed_rows, warnings } = JSON.parse(stdout)
  expect(changed_rows).toBe(changed)
  expect(warnings.map(({ message }: { message: string }) => message)).toContainEqual(
    expect.stringContaining(
      `${changed} of the 12 rows of the former manifest now have different content under the same number, and ${onlyImage} of these ${onlyImage === 1 ? 'differs' : 'differ'} only in the image.`,
    ),
  )
})

test('warns how many images differ if the rows are the same', async () => {
  const folder = await artFolder()
  await generate(folder)
  const reds = (await rowsOf(folder)).filter((row) => row['attr:Sky'] === 'Red').length
  await folder.write('0-1.png', await layerImage(2, 5))
  const { stderr } = await generate(folder)
  expect(stderr).toContain(`${reds} images differ from the former ones, but the rows are the same.`)
  expect(stderr).toContain('compare the images: gdn plan drop/manifest.csv')
  expect((await generate(folder)).stderr).not.toContain('differ from')
  // An image that was changed by hand is not used again.
  const made = await readFile(folder.path('drop/images/1.png'))
  await folder.write('drop/images/1.png', await layerImage(1, 1))
  const edited = await generate(folder)
  expect(edited.stderr).toContain(
    'drop/images/1.png: was changed after it was generated: your version is now drop.before-2',
  )
  expect((await readFile(folder.path('drop/images/1.png'))).equals(made)).toBe(true)
})

test('names files that were added to the folder by hand, before and after it is replaced', async () => {
  const folder = await artFolder()
  await generate(folder)
  for (const name of ['a.txt', 'b.txt', 'c.txt', 'd.txt', '.DS_Store', 'images/x.png', 'images/.x']) {
    await writeFile(folder.path(`drop/${name}`), 'mine')
  }
  await mkdir(folder.path('drop/notes'))
  const text = 'drop had 6 files that gdn did not generate: a.txt, b.txt, c.txt, d.txt, notes, and 1 more.'
  expect((await generate(folder)).stderr).toContain(`${text} gdn did not change the folder.`)
  const { warnings } = JSON.parse((await generate(folder, '--seed', 'other', '--json')).stdout) as {
    warnings: { message: string }[]
  }
  expect(warnings.map(({ message }) => message)).toContain(`${text} The former folder drop.before-1 now contains them.`)
  expect((await generate(folder, '--seed', 'third')).stderr).not.toContain('did not generate')
})

test('names unfinished folders of other settings with their size, and deletes only these with --clean', async () => {
  const folder = await artFolder()
  const left = '.drop.0123456789ab.partial'
  for (const name of [left, '.drop.0123456789ab.partial2', '.other.0123456789ab.partial']) {
    await mkdir(folder.path(`${name}/images`), { recursive: true })
    await writeFile(folder.path(`${name}/images/1.png`), Buffer.alloc(2048))
  }
  const { stderr } = await generate(folder)
  expect(stderr).toContain(`Unfinished folder with different settings: ${left} (2 KiB)`)
  expect(stderr).toContain('To delete it, run the same command with --clean.')
  const kept = await generate(folder, '--clean')
  expect(kept.stderr).toContain('Folders that changed within the last minute are kept')
  const anHourAgo = new Date(Date.now() - 3_600_000)
  await utimes(folder.path(`${left}/images/1.png`), anHourAgo, anHourAgo)
  expect((await generate(folder, '--clean')).stderr).toContain(`Deleted ${left} (2 KiB).`)
  expect(
    (await readdir(folder.path('.'))).filter((name) => name.endsWith('.partial2') || name.endsWith('.partial')),
  ).toEqual(['.drop.0123456789ab.partial2', '.other.0123456789ab.partial'])
})

test('a complete folder that was not renamed yet is found by the next command, which makes no image', async () => {
  const folder = await artFolder()
  await generate(folder)
  const { inputs } = JSON.parse(await readFile(folder.path('drop/edition.json'), 'utf8')) as { inputs: string }
  const before = await folder.files('drop')
  // As after a kill between the last two renames.
  await mkdir(folder.path('drop.before-1'))
  await rename(folder.path('drop'), folder.path(`.drop.${inputs.slice(0, 12)}.partial`))
  const { stdout } = await generate(folder, '--json')
  expect(JSON.parse(stdout)).toMatchObject({ made: 0, kept: 12, unfinished_folders: [] })
  expect(await folder.files('drop')).toEqual(before)
})

test('each file has the pixels whose hash is recorded, also if several images are made at once', async () => {
  const folder = await artFolder()
  expect(await generate(folder)).toMatchObject({ code: 0 })
  const { images } = JSON.parse(await readFile(folder.path('drop/edition.json'), 'utf8'))
  const drawn = images.filter((image: { pixels: string | null }) => image.pixels !== null)
  expect(drawn.length).toBe(11)
  for (const { file, pixels } of drawn) {
    const decoded = sharp(await readFile(folder.path(`drop/${file}`)))
      .ensureAlpha()
      .raw()
    const { data, info } = await decoded.toBuffer({ resolveWithObject: true })
    expect(hashPixels({ ...info, data }), file).toBe(pixels)
  }
})

test('keeps the bytes of an image whose pixels are the same', async () => {
  const folder = await artFolder()
  await generate(folder)
  // As another encoder would write it.
  const path = folder.path('drop/images/1.png')
  const other = await sharp(await readFile(path))
    .png({ compressionLevel: 1, adaptiveFiltering: true })
    .toBuffer()
  const edition = JSON.parse(await readFile(folder.path('drop/edition.json'), 'utf8'))
  expect(other.equals(await readFile(path))).toBe(false)
  await writeFile(path, other)
  edition.images[0].sha256 = createHash('sha256').update(other).digest('hex')
  await writeFile(folder.path('drop/edition.json'), JSON.stringify(edition))
  await folder.write('art.yaml', (await readFile(folder.path('art.yaml'), 'utf8')).replace('One of many', 'New text'))
  expect(await generate(folder)).toMatchObject({ code: 0 })
  expect((await readFile(path)).equals(other)).toBe(true)
})

describe('refuses an output folder, and changes nothing', () => {
  test.each([
    ['that contains art.yaml', '.', 'the folder contains'],
    ['whose parent is missing', 'none/drop', 'does not exist'],
    ['that is a file', 'gdn', 'is not a folder'],
    ['that is a symbolic link', 'link', 'is a symbolic link'],
    [
      'with the name of a former folder',
      'drop.before-1',
      '"drop.before-1" is a name that gdn reserves for replaced folders',
    ],
    ['in the folder of a layer', 'layers/hat/out', 'the folder is in layers/hat, which contains layers'],
    ['in the folder of the layers', 'layers/out', 'the folder is in layers, which contains layers'],
  ])('%s', async (_, out, message) => {
    const folder = await artFolder()
    await folder.write('gdn', 'a file')
    await mkdir(folder.path('layers/hat'), { recursive: true })
    await symlink(folder.path('layers'), folder.path('link'))
    const art = await readFile(folder.path('art.yaml'), 'utf8')
    await folder.write('art.yaml', art.replace('- name: Hat', '- name: Hat\n    folder: layers/hat'))
    const before = await folder.files('.')
    const result = await generateTo(folder, out, '--json')
    expect(result.code).toBe(2)
    expect(errorOf(result).message).toContain(message)
    expect(await folder.files('.')).toEqual(before)
  })

  test("that isn't an output of this command", async () => {
    const folder = await artFolder()
    await mkdir(folder.path('drop'))
    await writeFile(folder.path('drop/thesis.txt'), 'years of work')
    const result = await generate(folder, '--json')
    expect(result.code).toBe(2)
    expect(errorOf(result).message).toContain('was not created by gdn art generate')
    expect(await names(folder)).toEqual(['drop'])
  })
})

test('of two commands that write one folder at the same time, one is refused', async () => {
  const folder = await artFolder()
  const first = generate(folder, '--json')
  const second = generate(folder, '--seed', 'other', '--json')
  const results = await Promise.all([first, second])
  const refused = results.filter(({ code }) => code !== 0)
  expect(refused).toHaveLength(1)
  expect(errorOf(refused[0] as (typeof results)[0])).toMatchObject({
    code: 'run_busy',
    message: expect.stringContaining('another gdn process is writing to this folder'),
  })
  expect(await names(folder)).toEqual(['drop'])
  expect((await readdir(folder.path('.'))).filter((name) => name.endsWith('.lock'))).toEqual([])
  expect(await generate(folder)).toMatchObject({ code: 0 })
})

test('a lock file that a killed command left does not matter', async () => {
  const folder = await artFolder()
  await folder.write('.gdn-drop.lock', '')
  expect(await generate(folder)).toMatchObject({ code: 0 })
})

describe('a one-of-one of another size', () => {
  const wide = () => sharp({ create: { width: 128, height: 64, channels: 3, background: '#00f' } })

  test('is rejected without --fit, as a GIF or a JPEG', async () => {
    for (const type of ['gif', 'jpeg'] as const) {
      const folder = await artFolder()
      await folder.write('one.gif', await wide()[type]().toBuffer())
      const result = await generate(folder, '--json')
      expect(result.code).toBe(2)
      expect(errorOf(result).message).toContain('"one.gif" has 128 × 64 pixels, but the output has 64 × 64')
    }
  })

  test('is scaled and encoded like the other images with --fit, except for a GIF', async () => {
    const folder = await artFolder()
    await folder.write('one.gif', await wide().jpeg().toBuffer())
    expect(await generate(folder, '--fit', 'cover')).toMatchObject({ code: 0 })
    expect(await sharp(await readFile(folder.path('drop/images/2.png'))).metadata()).toMatchObject({
      ...{ format: 'png', width: 64, height: 64 },
    })
    expect((await rowsOf(folder))[1]?.image).toBe('images/2.png')
    const gif = await wide().gif().toBuffer()
    await folder.write('one.gif', gif)
    expect(await generate(folder, '--fit', 'cover')).toMatchObject({ code: 0 })
    expect(await readFile(folder.path('drop/images/2.gif'))).toEqual(gif)
  })
})

describe('leaves nothing half-written', () => {
  test('if an image of a layer is damaged', async () => {
    const folder = await artFolder()
    await generate(folder)
    const before = await folder.files('drop')
    const bytes = await readFile(folder.path('1-2.png'))
    await folder.write('1-2.png', bytes.subarray(0, bytes.length - 40))
    const result = await generate(folder, '--json')
    expect(result.code).toBe(2)
    expect(errorOf(result).message).toContain('art.yaml:9:68: "1-2.png" can\'t be decoded')
    expect(await folder.files('drop')).toEqual(before)
  })

  test('if the disk is full, and continues when there is room', async (context) => {
    const disk = await createSmallDisk(600)
    if (typeof disk === 'string') return context.skip(disk)
    try {
      const folder = await artFolder()
      const out = `${disk.path}/drop`
      await disk.fill()
      await disk.leave(40)
      const result = await generateTo(folder, out, '--json')
      expect([result.code, errorOf(result).code]).toEqual([2, 'file_error'])
      expect((await readdir(disk.path)).includes('drop')).toBe(false)
      await disk.makeRoom()
      expect(await generateTo(folder, out)).toMatchObject({ code: 0 })
      expect(await readdir(`${disk.path}/drop/images`)).toHaveLength(12)
    } finally {
      await disk.remove()
    }
  })
})

describe('the manifest and the pixels are the same', () => {
  const WASM = fileURLToPath(new URL('../helpers/sharp-wasm.cjs', import.meta.url))

  /** Returns the manifest, and a digest of the pixels of all images. */
  async function made({ gdn, path }: ArtFolder, out: string, ...flags: string[]): Promise<[string, string]> {
    const argv = ['art', 'generate', path('art.yaml'), '--count', '12', '--out', path(out), ...flags]
    expect(await gdn.run(...argv)).toMatchObject({ exitCode: 0 })
    const { images } = JSON.parse(await readFile(path(`${out}/edition.json`), 'utf8'))
    const pixels = createHash('sha256').update(JSON.stringify(images.map((image: { pixels: string }) => image.pixels)))
    return [await readFile(path(`${out}/manifest.csv`), 'utf8'), pixels.digest('hex')]
  }

  test('on every machine and version of Node.js', async () => {
    const [manifest, pixels] = await made(await artFolder(), 'drop')
    expect(createHash('sha256').update(manifest).digest('hex')).toBe(
      'ef3933d86da0ffef986d4b80102971c0fd48cf7405f024d8f78f1ffb13fc639b',
    )
    expect(pixels).toBe('36561d793b621d53eebce1de8792beff0892bfa0f08b2d5d6035f125676a3957')
  })

  test('with 1 and 4 threads', async () => {
    const folder = await artFolder()
    expect(await made(folder, 'four', '--threads', '4')).toEqual(await made(folder, 'one', '--threads', '1'))
    expect(await folder.files('four')).toEqual(await folder.files('one'))
  })

  test.each([
    ['png', []],
    ['webp', ['--fit', 'contain']],
  ])('with the native and the WebAssembly build of sharp, as %s', async (format, flags) => {
    const folder = await artFolder()
    const art = await readFile(folder.path('art.yaml'), 'utf8')
    // The images have 64 × 64 pixels, and are scaled.
    const size = flags.length === 0 ? '' : 'width: 50, height: 40, '
    await folder.write('art.yaml', art.replace('layers:', `output: { ${size}format: ${format} }\nlayers:`))
    const wasm = { ...folder, gdn: gdnAt(NO_SERVER, folder.path('home'), { NODE_OPTIONS: `--require ${WASM}` }) }
    expect(await made(wasm, 'wasm', ...flags, '--threads', '1')).toEqual(await made(folder, 'native', ...flags))
  })
})

test('an error in a thread is the error of the command', async () => {
  const { gdn, path, write } = await artFolder()
  const bytes = await readFile(path('1-2.png'))
  // The header is whole, so that only decoding finds the damage.
  await write('1-2.png', bytes.subarray(0, bytes.length - 40))
  const flags = ['--count', '12', '--threads', '2', '--out', path('drop')]
  const { exitCode, stderr } = await gdn.run('art', 'generate', path('art.yaml'), ...flags)
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(`"1-2.png" can't be decoded`)])
})
