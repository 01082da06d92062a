/** @module-tag slow */
import { mkdir, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { fakeApi, OWNER } from '../fake-api.ts'
import { cli, errorOf } from '../harness.ts'
import { folder, service, TARGET } from './drop.ts'

const SHEET = `Name,Description,Wallet,Mood\nDawn,"first\nof two",${OWNER},calm\nDusk,second,${OWNER},wild\n`
const MAP = ['--map', 'Mood=attr:Mood']
const NOTE = 'Columns: Name → title, Description → description, Wallet → receiver, Mood → attr:Mood'
const MAPPED = { Name: 'title', Description: 'description', Wallet: 'receiver', Mood: 'attr:Mood' }

async function sheet(text = SHEET) {
  const { path, options } = await folder({ 'drop.csv': text })
  const gdn = (...argv: string[]) => cli(argv, options)
  return { path, gdn, drop: path('drop.csv') }
}

test('--map suggests the meaning that was probably meant', async () => {
  const { gdn, drop } = await sheet()
  const { code, stderr } = await gdn('batch', 'validate', drop, ...TARGET, '--map', 'Wallet=receivr')
  expect([code, stderr]).toEqual([2, expect.stringContaining('  Did you mean --map Wallet=receiver? Specify a column')])
})

describe('mapped columns', () => {
  test('are reported by validate, preview and a dry run, as a note or in JSON', async () => {
    const { gdn, drop } = await sheet()
    const commands = [
      ['batch', 'validate', drop],
      ['batch', 'preview', drop, '--force'],
      ['batch', 'mint', drop, '--dry-run', '--no-lookup', '--base-url', 'http://127.0.0.1:9'],
    ]
    for (const argv of commands) {
      const { code, stderr } = await gdn(...argv, ...TARGET, ...MAP)
      expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining(NOTE) })
      const json = await gdn(...argv, ...TARGET, ...MAP, '--json')
      expect(JSON.parse(json.stdout).mapped_columns).toEqual(MAPPED)
    }
  })

  test('are reported by validate with the flags to mint the manifest with', async () => {
    const { gdn, drop } = await sheet()
    const { stderr } = await gdn('batch', 'validate', drop, ...TARGET, '--map', 'Mood=attr:Fur Color')
    expect(stderr).toContain("--map 'Mood=attr:Fur Color'")
    expect((await gdn('batch', 'validate', drop, ...TARGET, '--unknown-columns', 'attr')).stderr).toContain(
      '--unknown-columns attr',
    )
  })

  test.each([
    ['batch mint', (drop: string) => ['batch', 'mint', drop]],
    ['nft mint -f', (drop: string) => ['nft', 'mint', '-f', drop]],
  ])('%s mints each row once; results and resume need no mapping flags', async (_name, command) => {
    const { gdn, drop } = await sheet()
    const api = await fakeApi(service())
    const at = [...TARGET, '--base-url', api.url]
    const mint = await gdn(...command(drop), ...at, ...MAP)
    expect(mint).toMatchObject({ code: 0, stderr: expect.stringContaining(NOTE) })
    const [{ metadata }] = api.bodies('createnft') as [{ metadata: object[] }]
    expect(metadata[0]).toMatchObject({ title: 'Dawn', attribute: [{ tag: 'Mood', value: 'calm' }] })
    const rows = JSON.parse((await gdn('batch', 'results', 'drop', '--json')).stdout)
    expect(rows).toMatchObject([
      { line: 2, title: 'Dawn', status: 'deployed' },
      { line: 3, title: 'Dusk', status: 'deployed' },
    ])
    expect((await gdn('batch', 'resume', 'drop', '--base-url', api.url)).code).toBe(0)
    // Other column names for the same cells don't make new rows.
    await writeFile(drop, SHEET.replace('Name,Description,Wallet,Mood', 'title,description,receiver,attr:Mood'))
    expect((await gdn(...command(drop), ...at)).code).toBe(0)
    expect(api.bodies('createnft')).toHaveLength(1)
  })
})

test('a finished run keeps its columns if batch mint reads them with other flags and sends nothing', async () => {
  const { gdn, drop } = await sheet(
    SHEET.replace('Name', 'id,Name').replace('Dawn', 'a,Dawn').replace('Dusk', 'b,Dusk'),
  )
  const api = await fakeApi(service())
  const at = [...TARGET, '--base-url', api.url]
  expect((await gdn('batch', 'mint', drop, ...at, ...MAP)).code).toBe(0)
  expect((await gdn('batch', 'mint', drop, ...at, '--map', 'Mood=attr:Feeling')).code).toBe(0)
  expect(api.bodies('createnft')).toHaveLength(1)
  const { stderr } = await gdn('batch', 'status', drop)
  expect(stderr).not.toContain('differs from the rows of the run')
})

describe('a column that is left out', () => {
  const PRICED = `Name,Description,Wallet,Preis\nDawn,x,${OWNER},10\n`
  const JSON_ROWS = JSON.stringify([{ Name: 'Dawn', Description: 'x', Wallet: OWNER, Preis: 10 }])

  test.each([
    ['--map', 'drop.csv', PRICED, ['--map', 'Preis=ignore'], {}],
    ['--unknown-columns', 'drop.csv', PRICED, ['--unknown-columns', 'ignore'], {}],
    ['--map, of JSON rows with numbers', 'drop.json', JSON_ROWS, ['--map', 'Preis=ignore'], {}],
    ['map of the project file', 'drop.csv', PRICED, [], { map: { Preis: 'ignore' } }],
    ['unknown_columns of the project file', 'drop.csv', PRICED, [], { unknown_columns: 'ignore' }],
  ])('by %s is not minted, and is named', async (_how, name, text, flags, config) => {
    const { path, options } = await folder({ [name]: text, 'gdn.config.json': JSON.stringify(config) })
    const api = await fakeApi(service())
    const mint = await cli(['batch', 'mint', path(name), ...TARGET, '--base-url', api.url, ...flags], options)
    expect(mint).toMatchObject({ code: 0, stderr: expect.stringContaining('Preis → ignore') })
    const [{ metadata }] = api.bodies('createnft') as [{ metadata: object[] }]
    expect(metadata).toEqual([{ title: 'Dawn', description: 'x', file_fields: [] }])
    if (Object.keys(config).length > 0) expect(mint.stderr).toContain('gdn.config.json)')
  })

  test('is only left out if a flag or the project file says so, not by the name "ignore"', async () => {
    const { gdn, drop } = await sheet(SHEET.replace('Mood', 'ignore'))
    expect((await gdn('batch', 'validate', drop, ...TARGET)).stderr).toContain('unknown column "ignore"')
  })

  test('may change without changing the row', async () => {
    const { gdn, drop } = await sheet(PRICED)
    const api = await fakeApi(service())
    const mint = ['batch', 'mint', drop, ...TARGET, '--base-url', api.url, '--map', 'Preis=ignore']
    expect((await gdn(...mint)).code).toBe(0)
    await writeFile(drop, PRICED.replace(',10', ',12'))
    expect((await gdn(...mint)).code).toBe(0)
    expect(api.bodies('createnft')).toHaveLength(1)
  })
})

test('warns about a project file beside a manifest in another folder', async () => {
  const { gdn, path } = await sheet()
  await mkdir(path('other'))
  await writeFile(path('other/gdn.config.json'), '{}')
  await writeFile(path('other/drop.csv'), `title,description,receiver\nDawn,x,${OWNER}\n`)
  const warning = `${path('other/gdn.config.json')} is ignored. gdn looks for a project file only in the current folder and its parent folders.`
  for (const command of [['batch', 'validate'], ['batch', 'preview'], ['cost']]) {
    const { stderr } = await gdn(...command, path('other/drop.csv'), ...TARGET)
    expect(stderr).toContain(warning)
  }
})

describe('an unknown column', () => {
  test('is an error that names the flag for an attribute', async () => {
    const { gdn, drop } = await sheet()
    const result = await gdn('batch', 'validate', drop, ...TARGET, '--json')
    expect(result.code).toBe(2)
    expect(errorOf(result)).toMatchObject({
      message: expect.stringMatching(/drop\.csv:1:4: unknown column "Mood"$/),
      hint: 'To ignore the column, add --map Mood=ignore. To make the column a public attribute, add --map Mood=attr:Mood, or --unknown-columns attr for all unknown columns. To set this for every command, save `map` or `unknown_columns` in gdn.config.json in the current folder.',
    })
  })

  test.each([
    ['an unknown target', 'Mood=mood', 'unknown column "mood"'],
    ['a target in the wrong case', 'Mood=Title', '"Title" is not a column; did you mean "title"?'],
    ['a prefix without a name', 'Mood=attr:', 'needs a name after the colon'],
    ['no target', 'Mood', 'must be key=value'],
  ])('rejects --map with %s before the manifest is read', async (_what, mapping, message) => {
    const { gdn } = await sheet()
    const { code, stderr } = await gdn('batch', 'validate', 'nope.csv', ...TARGET, '--map', mapping)
    expect(code).toBe(2)
    expect(stderr).toContain(message)
  })
})

describe('map and unknown_columns of the project file', () => {
  const FILE = 'gdn.config.json'
  const BILD = `Name,Description,Wallet,Bild,Laune\nDawn,x,${OWNER},https://example.com/a.png,calm\n`

  async function project(config: object, text = BILD) {
    const { path, options } = await folder({ 'drop.csv': text, [FILE]: JSON.stringify(config) })
    const gdn = (...argv: string[]) => cli(argv, options)
    return { gdn, drop: path('drop.csv'), file: path(FILE) }
  }

  test('need not be repeated as flags, and the columns that they read are printed with the file', async () => {
    const config = { map: { bild: 'image', Missing: 'attr:Missing' }, unknown_columns: 'attr' }
    const { gdn, drop, file } = await project(config)
    const note = `Columns: Name → title, Description → description, Wallet → receiver, Bild → image, Laune → attr:Laune (${file})`
    const api = await fakeApi(service())
    for (const argv of [
      ['batch', 'validate', drop, ...TARGET],
      ['batch', 'preview', drop, ...TARGET],
      ['plan', drop, ...TARGET, '--base-url', api.url],
      ['batch', 'mint', drop, ...TARGET, '--base-url', api.url],
    ]) {
      const { code, stderr } = await gdn(...argv)
      expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining(note) })
    }
    const [{ metadata }] = api.bodies('createnft') as [{ metadata: object[] }]
    expect(metadata).toMatchObject([
      {
        attribute: [{ tag: 'Laune', value: 'calm' }],
        file_fields: [{ key: 'image', url: 'https://example.com/a.png' }],
      },
    ])
    expect((await gdn('nft', 'mint', '-f', drop, ...TARGET, '--base-url', api.url)).code).toBe(0)
    expect(api.bodies('createnft')).toHaveLength(1)
  })

  test('are not remembered from the flags of another manifest', async () => {
    const { path, options } = await folder({ 'drop.csv': BILD, 'next.csv': BILD.replace('Dawn', 'Dusk') })
    const api = await fakeApi(service())
    const mint = (name: string, ...flags: string[]) =>
      cli(['batch', 'mint', path(name), ...TARGET, '--base-url', api.url, '--json', ...flags], options)
    const flags = ['--map', 'Bild=image', '--unknown-columns', 'ignore']
    expect((await mint('drop.csv', ...flags)).code).toBe(0)
    const next = await mint('next.csv')
    expect([next.code, errorOf(next).message]).toEqual([2, expect.stringContaining('unknown column "Bild"')])
    expect(api.bodies('createnft')).toHaveLength(1)
  })

  test('are used by apply, whose run then needs no flags either', async () => {
    const { gdn, drop, file } = await project({ map: { Bild: 'image' }, unknown_columns: 'attr' })
    const api = await fakeApi(service())
    const at = [drop, ...TARGET, '--base-url', api.url]
    const { code, stderr } = await gdn('apply', ...at, '--yes')
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining(`Laune → attr:Laune (${file})`) })
    const [{ metadata }] = api.bodies('createnft') as [{ metadata: object[] }]
    expect(metadata).toMatchObject([
      {
        attribute: [{ tag: 'Laune', value: 'calm' }],
        file_fields: [{ key: 'image', url: 'https://example.com/a.png' }],
      },
    ])
    expect(await gdn('plan', ...at)).toMatchObject({ code: 0, stdout: '' })
  })

  test('are overridden by flags, and do nothing without a file', async () => {
    const { gdn, drop } = await project({ map: { Bild: 'image' }, unknown_columns: 'attr' })
    const validate = ['batch', 'validate', drop, ...TARGET, '--json']
    const mapped = async (...flags: string[]) => JSON.parse((await gdn(...validate, ...flags)).stdout).mapped_columns
    expect(await mapped('--map', 'Bild=file:poster', '--unknown-columns', 'extra')).toMatchObject({
      Bild: 'file:poster',
      Laune: 'extra:Laune',
    })
    expect((await gdn(...validate, '--unknown-columns', 'error')).code).toBe(2)
    const other = await sheet(BILD)
    expect((await other.gdn('batch', 'validate', other.drop, ...TARGET)).code).toBe(2)
  })

  test('are listed by gdn config with the file that sets them', async () => {
    const { gdn, file } = await project({ map: { Bild: 'image', Mood: 'attr:Mood' }, unknown_columns: 'extra' })
    expect(JSON.parse((await gdn('config', 'list', '--json')).stdout)).toEqual(
      expect.arrayContaining([
        { name: 'map', value: 'Bild=image, Mood=attr:Mood', from: file },
        { name: 'unknown_columns', value: 'extra', from: file },
      ]),
    )
    expect((await gdn('config', 'get', 'unknown_columns')).stdout).toBe('extra\n')
    const { gdn: without } = await sheet()
    expect((await without('config', 'get', 'map')).stderr).toContain('Set the value in the project file')
    expect((await without('config', 'set', 'map', 'Bild=image')).code).toBe(2)
  })

  test.each([
    [
      { map: { Bild: 'picture' } },
      'map.Bild',
      '"picture" is not a manifest column: use a column such as image or attr:Mood',
    ],
    [
      { map: { Bild: 'attr:' } },
      'map.Bild',
      '"attr:" is not a manifest column: use a column such as image or attr:Mood',
    ],
    [{ map: { Bild: 'extra:title' } }, 'map.Bild', 'is part of every NFT'],
    [{ map: ['image'] }, 'map', 'must be'],
    [{ map: { Bild: 1 } }, 'map.Bild', 'must be'],
    [{ unknown_columns: 'drop' }, 'unknown_columns', 'must be attr, extra, ignore or error'],
  ])('are rejected with their place: %j', async (config, field, message) => {
    const { gdn, drop, file } = await project(config)
    const result = await gdn('batch', 'validate', drop, ...TARGET, '--json')
    expect(result.code).toBe(2)
    const error = errorOf(result)
    expect(error.code).toBe('invalid_config')
    expect(error.message).toContain(`${file} (${field})`)
    expect(error.message).toContain(message)
  })
})
