import { writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { folder, service, TARGET } from './drop.ts'
import { fakeApi, OWNER } from './fake-api.ts'
import { cli, errorOf } from './harness.ts'

const SHEET = `Name,Description,Wallet,Mood\nDawn,"first\nof two",${OWNER},calm\nDusk,second,${OWNER},wild\n`
const MAP = ['--map', 'Mood=attr:Mood']
const NOTE = 'Columns: Name → title, Description → description, Wallet → receiver, Mood → attr:Mood'
const MAPPED = { Name: 'title', Description: 'description', Wallet: 'receiver', Mood: 'attr:Mood' }

async function sheet(text = SHEET) {
  const { path, options } = await folder({ 'drop.csv': text })
  const gdn = (...argv: string[]) => cli(argv, options)
  return { path, gdn, drop: path('drop.csv') }
}

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

describe('an unknown column', () => {
  test('is an error that names the flag for an attribute', async () => {
    const { gdn, drop } = await sheet()
    const result = await gdn('batch', 'validate', drop, ...TARGET, '--json')
    expect(result.code).toBe(2)
    expect(errorOf(result)).toMatchObject({
      message: expect.stringMatching(/drop\.csv:1:4: unknown column "Mood"$/),
      hint: 'To make it a public attribute, add --map Mood=attr:Mood, or --unknown-columns attr for all unknown columns.',
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
