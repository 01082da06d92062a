import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import Papa from 'papaparse'
import { describe, expect, test } from 'vitest'
import { readManifest } from '../../../src/manifest/read.ts'
import { folder } from '../batch/drop.ts'
import { cli } from '../harness.ts'

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
type Files = Readonly<Record<string, unknown>>

/** Makes a home with these files: images, texts, and values that are written as JSON. */
async function withFiles(files: Files) {
  const { path, options } = await folder({})
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(path(name)), { recursive: true })
    const isRaw = typeof content === 'string' || Buffer.isBuffer(content)
    await writeFile(path(name), isRaw ? content : JSON.stringify(content, null, 2))
  }
  const run = (...argv: string[]) => cli(argv, { ...options, cwd: path('.') })
  const rows = async (name = 'manifest.csv') =>
    Papa.parse<Record<string, string>>(await readFile(path(name), 'utf8'), { header: true, skipEmptyLines: true }).data
  return { path, run, rows }
}

/** Metadata as HashLips writes it. */
const hashlips = (edition: number, changes: object = {}) => ({
  name: `Your Collection #${edition}`,
  description: 'One of many',
  image: `ipfs://NewUriToReplace/${edition}.png`,
  dna: `dna${edition}`,
  edition,
  date: 1_632_219_001_470,
  attributes: [
    { trait_type: 'Background', value: 'Black' },
    { trait_type: 'Eye color', value: `Color ${edition}` },
  ],
  compiler: 'HashLips Art Engine',
  ...changes,
})

function hashlipsBuild(editions: readonly number[], changes: Readonly<Record<number, object>> = {}): Files {
  const all = editions.map((edition) => hashlips(edition, changes[edition]))
  return Object.fromEntries<unknown>([
    ...all.map((one): [string, unknown] => [`build/json/${one.edition}.json`, one]),
    ...editions.map((edition): [string, unknown] => [`build/images/${edition}.png`, PNG]),
    ['build/json/_metadata.json', all],
  ])
}

/** Metadata as sugar expects it. */
const sugar = (number: number, changes: object = {}) => ({
  name: `Number #${number}`,
  symbol: 'NB',
  description: 'A number',
  seller_fee_basis_points: 500,
  image: `${number}.png`,
  external_url: 'https://example.com',
  attributes: [{ trait_type: 'Parity', value: number % 2 === 0 ? 'Even' : 'Odd' }],
  properties: { files: [{ uri: `${number}.png`, type: 'image/png' }], category: 'image', creators: [] },
  ...changes,
})

const sugarAssets = (count: number): Files => ({
  ...Object.fromEntries(Array.from({ length: count }, (_, i) => [`assets/${i}.json`, sugar(i)])),
  ...Object.fromEntries(Array.from({ length: count }, (_, i) => [`assets/${i}.png`, PNG])),
  'assets/collection.json': { name: 'Numbers', symbol: 'NB', image: 'collection.png' },
  'assets/collection.png': PNG,
})

test('gdn art import notes images of several NFTs, and images that no NFT has', async () => {
  const { run } = await withFiles({
    ...hashlipsBuild([1, 2, 3], { 2: { image: 'ipfs://NewUriToReplace/3.png' } }),
    'build/images/cover.png': PNG,
  })
  const { code, stderr } = await run('art', 'import', 'build')
  expect(code, stderr).toBe(0)
  expect(stderr).toContain('Images that several NFTs use: build/images/3.png (2, 3)\n')
  expect(stderr).toContain('Images that no NFT uses: build/images/2.png, build/images/cover.png\n')
  const plain = await withFiles(hashlipsBuild([1, 2]))
  expect((await plain.run('art', 'import', 'build')).stderr).not.toContain('Images')
  const sugar = await withFiles(sugarAssets(2))
  expect((await sugar.run('art', 'import', 'assets')).stderr).not.toContain('Images')
})

describe('gdn art import warns about metadata that names the image of another number', () => {
  const warningsFor = async (files: Files, name = 'build') => {
    const { run } = await withFiles(files)
    const { code, stdout, stderr } = await run('art', 'import', name, '-o', 'json')
    expect(code, stderr).toBe(0)
    return (JSON.parse(stdout).warnings as { message: string }[]).map(({ message }) => message)
  }
  const image = (name: string) => ({ image: name })

  test('once, with the first ones', async () => {
    const swapped = { 2: image('ipfs://NewUriToReplace/3.png'), 3: image('2.png') }
    expect(await warningsFor(hashlipsBuild([1, 2, 3], swapped))).toEqual([
      'Images whose number differs from the number of their NFT: 2.json names 3.png, 3.json names 2.png',
    ])
    const reversed = Object.fromEntries([1, 2, 3, 4, 5, 6].map((number) => [number, image(`${7 - number}.png`)]))
    expect(await warningsFor(hashlipsBuild([1, 2, 3, 4, 5, 6], reversed))).toEqual([
      'Images whose number differs from the number of their NFT: 1.json names 6.png, 2.json names 5.png, 3.json names 4.png, 4.json names 3.png, 5.json names 2.png and 1 more',
    ])
  })

  test('in a list of all metadata', async () => {
    const list = [hashlips(1, image('2.png')), hashlips(2, image('1.png'))]
    const files = { 'build/images/1.png': PNG, 'build/images/2.png': PNG, 'build/json/_metadata.json': list }
    expect(await warningsFor(files)).toEqual([
      'Images whose number differs from the number of their NFT: _metadata.json: [0] names 2.png, _metadata.json: [1] names 1.png',
    ])
  })

  test('by a URL, but not if its number belongs to no NFT', async () => {
    const url = (number: number) => image(`https://example.com/a/${number}.png?size=1/2`)
    const files = {
      'assets/0.json': sugar(0, url(1)),
      'assets/1.json': sugar(1, url(9876)),
      'assets/2.json': sugar(2, url(2)),
    }
    expect(await warningsFor(files, 'assets')).toEqual([
      'Images whose number differs from the number of their NFT: 0.json names 1.png',
    ])
  })
})

describe('gdn art import', () => {
  test('turns a HashLips build with placeholder URLs into a manifest that gdn batch validate accepts', async () => {
    const { run, rows, path } = await withFiles(hashlipsBuild([1, 2, 10]))
    const { code, stdout, stderr } = await run('art', 'import', 'build', '--json')
    expect(code, stderr).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      format: 'hashlips',
      rows: 3,
      images: 3,
      omitted_fields: ['compiler', 'date', 'dna', 'edition'],
    })
    expect((await rows())[2]).toEqual({
      id: '10',
      title: 'Your Collection #10',
      description: 'One of many',
      image: 'build/images/10.png',
      'attr:Background': 'Black',
      'attr:Eye color': 'Color 10',
    })
    const checked = await run(
      'batch',
      'validate',
      path('manifest.csv'),
      '-b',
      'polygon',
      '--receiver',
      `0x${'1'.repeat(40)}`,
    )
    expect(checked.code, checked.stderr).toBe(0)
  })

  test('names missing numbers and omitted fields for people', async () => {
    const { run } = await withFiles(hashlipsBuild([1, 2, 10]))
    const { stderr } = await run('art', 'import', 'build')
    expect(stderr).toContain('Missing numbers: 3, 4, 5, 6, 7 and 2 more')
    expect(stderr).toContain('Omitted fields: compiler, date, dna, edition')
  })

  test('warns about equal names, folders that are not imported and missing numbers, also as JSON', async () => {
    const { run } = await withFiles({
      ...hashlipsBuild([1, 2, 4, 5], { 2: { name: 'Same' }, 4: { name: 'Same' } }),
      'build/second/json/1.json': hashlips(1),
      'build/json/old/1.json': hashlips(1),
    })
    const warnings = [
      { place: { file: 'build/json/old' }, message: 'the folder is not imported' },
      { place: { file: 'build/second' }, message: 'the folder is not imported' },
      { place: { file: 'build/json/4.json', field: 'name' }, message: '"Same" is the name of 2 NFTs: 2, 4' },
      { place: {}, message: 'Missing numbers: 3' },
    ]
    const { stdout, stderr } = await run('art', 'import', 'build', '--out', 'build/a.csv', '-o', 'json')
    expect([stderr, JSON.parse(stdout).warnings]).toEqual(['', warnings])
    const importResult = await run('art', 'import', 'build', '--out', 'build/b.csv')
    expect([importResult.code, importResult.stderr]).toEqual([
      0,
      expect.stringContaining('build/json/4.json (name): "Same" is the name of 2 NFTs: 2, 4\n'),
    ])
    expect(importResult.stderr).toContain('build/second: the folder is not imported\n')
    const plain = await withFiles(hashlipsBuild([1, 2]))
    expect(JSON.parse((await plain.run('art', 'import', 'build', '-o', 'json')).stdout).warnings).toEqual([])
  })

  test('accepts a list of all metadata in another order, and another date', async () => {
    const { run } = await withFiles({
      ...hashlipsBuild([1, 2]),
      'build/json/_metadata.json': [hashlips(2), hashlips(1, { date: 1 })],
    })
    const { code, stderr } = await run('art', 'import', 'build')
    expect(code, stderr).toBe(0)
  })

  test('reads the list of all metadata if there are no single files', async () => {
    const { run, rows } = await withFiles({
      'build/json/_metadata.json': [hashlips(2), hashlips(1)],
      'build/images/1.png': PNG,
      'build/images/2.png': PNG,
    })
    expect((await run('art', 'import', 'build')).code).toBe(0)
    expect((await rows()).map(({ id, image }) => [id, image])).toEqual([
      ['1', 'build/images/1.png'],
      ['2', 'build/images/2.png'],
    ])
  })

  test('turns the assets of sugar into a manifest beside them, from 0 and without the collection', async () => {
    const { run, rows } = await withFiles(sugarAssets(3))
    const { code, stderr } = await run('art', 'import', 'assets', '--out', 'assets/drop.csv')
    expect(code, stderr).toBe(0)
    expect(stderr).toContain('gdn collection create --name Numbers')
    expect(await rows('assets/drop.csv')).toEqual(
      [0, 1, 2].map((number) => ({
        id: String(number),
        title: `Number #${number}`,
        description: 'A number',
        image: `${number}.png`,
        'attr:Parity': number === 1 ? 'Odd' : 'Even',
        'extra:external_url': 'https://example.com',
      })),
    )
  })

  test('turns numbers and display types into typed traits, and leaves out traits without a value', async () => {
    const attributes = [
      { trait_type: 'Level', value: 5 },
      { trait_type: 'Power', value: '12.5', display_type: 'boost_percentage' },
      { trait_type: 'Stamina', value: 3, max_value: 10, display_type: 'number' },
      { trait_type: 'Hat', value: '' },
      { trait_type: 'Alive', value: true },
    ]
    const { run, rows } = await withFiles(hashlipsBuild([1], { 1: { attributes } }))
    const { code, stderr } = await run('art', 'import', 'build')
    expect(code, stderr).toBe(0)
    expect((await rows())[0]).toMatchObject({
      'attr(number):Level': '5',
      'attr(boost_percentage):Power': '12.5',
      'attr(number,max=10):Stamina': '3',
      'attr:Alive': 'true',
    })
    expect(stderr).toContain('Omitted 1 trait without a value.')
  })

  test('keeps texts that a spreadsheet would change, and texts with quotes and line breaks', async () => {
    const texts = [`'=1+1`, '=1+1', 'a "b", c\nd']
    const changes = Object.fromEntries(texts.map((description, index) => [index + 1, { description }]))
    const { run, path } = await withFiles(hashlipsBuild([1, 2, 3], changes))
    expect((await run('art', 'import', 'build')).code).toBe(0)
    const read = readManifest(
      { path: path('manifest.csv') },
      { blockchain: null, mayLackBlockchain: true, receiver: 'later', localFiles: true },
    )
    const found: string[] = []
    for await (const item of read) if ('row' in item) found.push(item.row.metadata.description)
    expect(found).toEqual(texts)
  })

  test('keeps a URL if the folder has no image, and prefers an image in the folder', async () => {
    const cid = 'bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi'
    const files = hashlipsBuild([1, 2], {
      1: { image: `ipfs://${cid}/1.png` },
      2: { image: `ipfs://${cid}/2.png` },
    })
    const { run, rows, path } = await withFiles(files)
    await rm(path('build/images/2.png'))
    const { code, stderr } = await run('art', 'import', 'build')
    expect(code, stderr).toBe(0)
    expect((await rows()).map(({ image }) => image)).toEqual(['build/images/1.png', `ipfs://${cid}/2.png`])
    expect(stderr).toContain('For 1 file, the manifest contains the local path')
  })

  /** A build of the editions 1 to 3 whose files have these first numbers. */
  const renumberedBuild = (metadata: number, images: number, changes: object[] = []): Files => ({
    ...Object.fromEntries([0, 1, 2].map((i) => [`build/json/${metadata + i}.json`, hashlips(1 + i, changes[i])])),
    ...Object.fromEntries([0, 1, 2].map((i) => [`build/images/${images + i}.png`, PNG])),
    'build/json/_metadata.json': [1, 2, 3].map((edition) => hashlips(edition)),
  })
  const EDITION =
    'build/json/0.json (edition): is 1, but the file has the number 0, and all 3 metadata files have the same offset'
  test.each<[string, Files, string]>([
    ['metadata files', renumberedBuild(0, 1), EDITION],
    ['metadata files and images', renumberedBuild(0, 0), EDITION],
    [
      'metadata files and images, without a list',
      Object.fromEntries(Object.entries(renumberedBuild(0, 0)).filter(([name]) => !name.endsWith('_metadata.json'))),
      EDITION,
    ],
    [
      'images',
      renumberedBuild(1, 0),
      'build/images: the images have the numbers 0 to 2, but the metadata files have 1 to 3',
    ],
    [
      'metadata with its editions',
      renumberedBuild(
        0,
        0,
        [0, 1, 2].map((edition) => ({ edition, image: `${edition}.png` })),
      ),
      'build/json/_metadata.json: the editions are 1 to 3, but the metadata files have the numbers 0 to 2',
    ],
  ])('rejects a build with renumbered %s by one message', async (_, files, message) => {
    const { run, path } = await withFiles(files)
    const { code, stderr } = await run('art', 'import', 'build')
    expect(code).toBe(2)
    expect(stderr).toContain(`error: ${message}`)
    expect(stderr).not.toMatch(/more\)|Set both to the same value/)
    expect(existsSync(path('manifest.csv'))).toBe(false)
  })

  test('accepts images whose names the metadata states, even if they have other numbers', async () => {
    const { run, rows } = await withFiles({
      'assets/0.json': sugar(0, { image: '1.png' }),
      'assets/1.json': sugar(1, { image: '2.png' }),
      ...{ 'assets/1.png': PNG, 'assets/2.png': PNG },
    })
    await run('art', 'import', 'assets', '--out', 'manifest.csv')
    expect((await rows()).map(({ image }) => image)).toEqual(['assets/1.png', 'assets/2.png'])
  })

  test('warns about the default description, and about traits that differ only in case', async () => {
    const { run } = await withFiles(
      hashlipsBuild([1, 2, 3], {
        1: { description: 'Remember to replace this description' },
        2: { attributes: [{ trait_type: 'background', value: 'Black' }] },
        3: { attributes: [{ trait_type: 'Background', value: 'black' }] },
      }),
    )
    const { stderr } = await run('art', 'import', 'build')
    expect(stderr).toContain('build/json/1.json (description): is the default description of HashLips (1 NFT)')
    expect(stderr).toContain('Set the description in src/config.js of HashLips')
    expect(stderr).toContain(
      'build/json/2.json (attributes[0]): the trait "background" differs only in case from "Background" in build/json/1.json',
    )
    expect(stderr).toContain(
      'build/json/3.json (attributes[0]): the value "Background: black" differs only in case from "Background: Black"',
    )
    expect(stderr.match(/only in case/g)).toHaveLength(2)
  })

  const BUILD = hashlipsBuild([1, 2])
  const WITHOUT_LIST = { 'build/json/_metadata.json': null }
  test.each<[string, Files, string]>([
    [
      'a missing image',
      { 'build/images/2.png': null },
      'build/json/2.json (image): is "ipfs://NewUriToReplace/2.png", which',
    ],
    ['JSON that is no JSON', { 'build/json/2.json': '{"name": "x",' }, 'build/json/2.json:1:14: '],
    [
      'a number that JSON has twice',
      { 'build/json/02.json': hashlips(2) },
      'build/json/2.json: has the same number as build/json/02.json',
    ],
    [
      'two NFTs with the same DNA',
      { 'build/json/2.json': hashlips(2, { dna: 'dna1' }) },
      'build/json/2.json (dna): is the same as in build/json/1.json',
    ],
    [
      'two metadata files of one edition',
      { 'build/json/2.json': hashlips(2, { edition: 1 }) },
      'build/json/2.json (edition): is 1, which is also the edition of build/json/1.json',
    ],
    [
      'a metadata file with the edition of a later one',
      { 'build/json/1.json': hashlips(1, { edition: 2 }) },
      'build/json/1.json (edition): is 2, which is also the edition of build/json/2.json',
    ],
    [
      'a metadata file whose trait differs from the list',
      {
        'build/json/2.json': hashlips(2, {
          attributes: [...hashlips(2).attributes.slice(0, 1), { trait_type: 'Eye color', value: 'Red' }],
        }),
      },
      'build/json/2.json (attributes[1].value): is "Red", but "Color 2" in _metadata.json',
    ],
    [
      'a metadata file that lacks a field of the list',
      { 'build/json/_metadata.json': [hashlips(1), hashlips(2, { power: 3 })] },
      'build/json/2.json (power): is missing, but "3" in _metadata.json',
    ],
    [
      'a list with other NFTs',
      { 'build/json/_metadata.json': [hashlips(1)] },
      'build/json/_metadata.json: has 1 NFTs, but there are 2 metadata files: no entry has the edition 2, the number of build/json/2.json',
    ],
    [
      'a list with an edition twice',
      { 'build/json/_metadata.json': [hashlips(1), hashlips(1)] },
      'build/json/_metadata.json ([1].edition): is 1, which is also the edition of [0]',
    ],
    [
      'a list without the edition of a file',
      { 'build/json/_metadata.json': [hashlips(1), hashlips(7)] },
      'build/json/_metadata.json: no entry has the edition 2, the number of build/json/2.json',
    ],
    ['an image without metadata', { 'build/images/3.png': PNG }, 'build/images/3.png: has no metadata file'],
    [
      'two images with a number',
      { 'build/images/2.jpg': PNG, 'build/json/2.json': hashlips(2, { image: 'x' }) },
      'build/json/2.json (image): could be',
    ],
    ['a file that is no image', { 'build/images/2.png': 'text' }, 'build/json/2.json: image '],
    [
      'a missing name',
      { 'build/json/2.json': hashlips(2, { name: undefined }) },
      'build/json/2.json (name): is missing',
    ],
    [
      'a description that is no text',
      { 'build/json/2.json': hashlips(2, { description: 5 }) },
      'build/json/2.json (description): must be text',
    ],
    [
      'attributes that are no list',
      { 'build/json/2.json': hashlips(2, { attributes: {} }) },
      'build/json/2.json (attributes): must be a list',
    ],
    [
      'a trait without a name',
      { 'build/json/2.json': hashlips(2, { attributes: [{ value: 'x' }] }) },
      'build/json/2.json (attributes[0].trait_type): is missing',
    ],
    [
      'a trait twice',
      {
        'build/json/2.json': hashlips(2, {
          attributes: [
            { trait_type: 'A', value: 'x' },
            { trait_type: 'A', value: 'y' },
          ],
        }),
      },
      'build/json/2.json (attributes[1].trait_type): is "A"',
    ],
    [
      'an unknown display type',
      { 'build/json/2.json': hashlips(2, { attributes: [{ trait_type: 'A', value: 1, display_type: 'x' }] }) },
      'build/json/2.json (attributes[0].display_type): must be',
    ],
    [
      'a typed trait that is no number',
      {
        ...WITHOUT_LIST,
        'build/json/2.json': hashlips(2, { attributes: [{ trait_type: 'A', value: 'x', display_type: 'number' }] }),
      },
      'build/json/2.json (attributes[0]): ',
    ],
    [
      'a trait name that no column has',
      {
        ...WITHOUT_LIST,
        'build/json/2.json': hashlips(2, { attributes: [{ trait_type: 'A\u200b', value: 'x' }] }),
      },
      'build/json/2.json (attributes[0]): ',
    ],
    ['metadata that is no object', { 'build/json/2.json': [] }, 'build/json/2.json: must be an object'],
    [
      'a file without a number',
      { 'build/json/one.json': hashlips(1) },
      'build/json/one.json: is not named after the number of an NFT',
    ],
    [
      'an image in a parent folder',
      { 'build/json/2.json': hashlips(2, { image: '../../secret.png' }), 'secret.png': PNG },
      'build/json/2.json (image): must be a file in the folder',
    ],
    [
      'an absolute path',
      { 'build/json/2.json': hashlips(2, { image: '/etc/hostname' }) },
      'build/json/2.json (image): must be a file in the folder',
    ],
    [
      'a hidden image',
      {
        ...WITHOUT_LIST,
        'build/json/2.json': hashlips(2, { image: '.secret.png' }),
        'build/images/.secret.png': PNG,
      },
      'build/json/2.json: image ',
    ],
  ])('rejects %s with its file and field, and writes nothing', async (_, changes, message) => {
    const files = Object.fromEntries(Object.entries({ ...BUILD, ...changes }).filter(([, content]) => content !== null))
    const { run, path } = await withFiles(files)
    const { code, stdout, stderr } = await run('art', 'import', 'build')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(`error: ${message}`)
    expect(existsSync(path('manifest.csv'))).toBe(false)
  })

  test('rejects a link that leads out of the folder', async () => {
    const { run, path } = await withFiles({ ...hashlipsBuild([1]), 'build/images/1.png': PNG })
    const outside = await withFiles({ 'secret.png': PNG })
    await symlink(outside.path('secret.png'), path('build/images/2.png'))
    await writeFile(path('build/json/2.json'), JSON.stringify(hashlips(2)))
    await writeFile(path('build/json/_metadata.json'), JSON.stringify([hashlips(1), hashlips(2)]))
    const { code, stderr } = await run('art', 'import', 'build')
    expect(code).toBe(2)
    expect(stderr).toContain("build/json/2.json: image is outside the manifest's folder")
  })

  test.each<[string, Files, string, string]>([
    ['layers', { 'layers/Eyes/Red#3.png': PNG, 'layers/Hat/Cap.png': PNG }, 'layers', 'gdn art init layers > art.yaml'],
    ['the folder of HashLips itself', { ...BUILD, 'layers/Eyes/Red.png': PNG }, '.', 'gdn art import build'],
    ['the folder json', BUILD, 'build/json', 'Pass its parent folder: gdn art import '],
    [
      'the output of gdn art generate',
      { 'drop/edition.json': {}, 'drop/manifest.csv': 'id', 'drop/images/1.png': PNG },
      'drop',
      'gdn art generate created this folder, which contains a manifest: drop/manifest.csv',
    ],
    ['a missing folder', {}, 'build', 'Pass the build folder of HashLips'],
    ['a file', { build: 'x' }, 'build', 'Pass the build folder of HashLips'],
    [
      'an empty build',
      { 'build/json/.gitkeep': '', 'build/images/.gitkeep': '' },
      'build',
      'Generate the NFTs with HashLips first',
    ],
  ])('suggests a fix for %s', async (_, files, name, hint) => {
    const { run } = await withFiles(files)
    const { code, stderr } = await run('art', 'import', name)
    expect(code).toBe(2)
    expect(stderr).toContain(hint)
  })

  test('names the missing folder images once, unless the images have URLs', async () => {
    const files = Object.entries(hashlipsBuild([1, 2, 3]))
    const { run, path } = await withFiles(Object.fromEntries(files.filter(([name]) => name.endsWith('.json'))))
    const { code, stderr } = await run('art', 'import', 'build')
    expect(code).toBe(2)
    expect(stderr).toContain("error: build/images: doesn't exist\n")
    expect(stderr).not.toContain('build/json has no image')
    const cid = 'bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi'
    for (const number of [1, 2, 3]) {
      const own = hashlips(number, { image: `ipfs://${cid}/${number}.png` })
      await writeFile(path(`build/json/${number}.json`), JSON.stringify(own))
    }
    await rm(path('build/json/_metadata.json'))
    expect(await run('art', 'import', 'build')).toMatchObject({ code: 0 })
  })

  test('overwrites a manifest only with --force, and keeps it after an error', async () => {
    const { run, path, rows } = await withFiles({ ...BUILD, 'manifest.csv': 'mine' })
    const refused = await run('art', 'import', 'build')
    expect(refused.code).toBe(3)
    expect(await readFile(path('manifest.csv'), 'utf8')).toBe('mine')
    await writeFile(path('build/images/1.png'), 'text')
    expect((await run('art', 'import', 'build', '--force')).code).toBe(2)
    expect(await readFile(path('manifest.csv'), 'utf8')).toBe('mine')
    await writeFile(path('build/images/1.png'), PNG)
    expect((await run('art', 'import', 'build', '--force')).code).toBe(0)
    expect(await rows()).toHaveLength(2)
  })

  test('refuses a manifest in a folder that does not contain the images', async () => {
    const { run } = await withFiles({ ...BUILD, 'other/x': '' })
    const { code, stderr } = await run('art', 'import', 'build', '--out', 'other/manifest.csv')
    expect(code).toBe(2)
    expect(stderr).toContain('Use --out build/manifest.csv.')
  })
})
