/** @module-tag slow */
import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { fakeApi, OWNER } from '../fake-api.ts'
import { cli, errorOf } from '../harness.ts'
import { folder, TARGET } from './drop.ts'

const PLACEHOLDER = JSON.stringify({ title: 'Hidden', description: 'Wait' })
const REMOTE = 'https://example.com/a.txt'
const URLS = [
  'id,title,description,image,receiver',
  ...[`a,Dawn,x,a.txt,${OWNER}`, `b,Noon,x,${REMOTE},${OWNER}`, `c,Dusk,x,a.txt,${OWNER}`],
  `d,Night,x,${REMOTE},${OWNER}`,
].join('\n')

async function drop(csv: string, files: Record<string, string> = {}) {
  const { path, options } = await folder({ 'drop.csv': csv, 'a.txt': 'picture', 'hidden.json': PLACEHOLDER, ...files })
  /** Runs a command on files of the folder, and removes the folder from the messages. */
  const gdn = async (argv: string[], env: NodeJS.ProcessEnv = {}) => {
    const paths = argv.map((word) => (/^\w+\.(csv|jsonl?)$/.test(word) ? path(word) : word))
    const result = await cli(paths, { ...options, env: { ...options.env, ...env } })
    return { ...result, stderr: result.stderr.replaceAll(`${path('.')}/`, '') }
  }
  return { path, gdn, validate: (...more: string[]) => gdn(['batch', 'validate', 'drop.csv', ...TARGET, ...more]) }
}

const UNREVEALED = ['--unrevealed', 'hidden.json']

describe('names the row and the column that an unrevealed drop rejects', () => {
  const row = (names: string, cells: string) =>
    `title,description,receiver,${names}\nDawn,x,${OWNER}${','.repeat(names.split(',').length)}\nNoon,x,${OWNER},${cells}\n`
  const nine = Array.from({ length: 8 }, (_, n) => `extra:e${n}`).join(',')
  test.each<[string, string, string]>([
    ['a file at a URL', row('image', REMOTE), '3:4: image is a URL, whose content can change before the reveal'],
    ['a reserved file key', row('file:provenance', 'a.txt'), '3:4: file:provenance is reserved for the reveal'],
    ['a reserved key', row('extra:provenance_salt', 'x'), '3:4: extra:provenance_salt is reserved for the reveal'],
    ['a text like a file', row('extra:link', 'ipfs://x'), '3:4: extra:link begins like the URL of a file'],
    [
      'a title like a file',
      `title,description,receiver\nipfs://x,x,${OWNER}\n`,
      '2:1: title begins like the URL of a file',
    ],
    ['too many items', row(nine, 'x,x,x,x,x,x,x,x'), '3: the row has 10 metadata items, but the reveal adds'],
  ])('%s', async (_, csv, problem) => {
    const { validate } = await drop(csv)
    expect(await validate()).toMatchObject({ code: 0 })
    expect(await validate(...UNREVEALED)).toMatchObject({
      ...{ code: 2, stderr: expect.stringContaining(`error: drop.csv:${problem}`) },
    })
  })

  test('a JSON row', async () => {
    const rows = JSON.stringify({ title: 'Dawn', description: 'x', receiver: OWNER, image: REMOTE })
    const { gdn } = await drop('', { 'drop.jsonl': `${rows}\n` })
    const { stderr } = await gdn(['batch', 'validate', 'drop.jsonl', ...TARGET, ...UNREVEALED])
    expect(stderr).toContain('error: drop.jsonl:1: image is a URL')
  })

  test.each([
    ['batch mint', ['batch', 'mint', 'drop.csv', ...UNREVEALED]],
    ['batch mint --dry-run', ['batch', 'mint', 'drop.csv', ...UNREVEALED, '--dry-run']],
    ['reveal', ['reveal', 'drop.csv']],
  ])('in every output of %s', async (_, command) => {
    const { path, gdn } = await drop(URLS, { 'summary.md': '' })
    const { url } = await fakeApi({})
    const argv = [...command, ...TARGET, '--base-url', url]
    const { code, stderr } = await gdn(argv, {
      ...{ GITHUB_ACTIONS: 'true', GITHUB_WORKSPACE: path('.'), GITHUB_STEP_SUMMARY: path('summary.md') },
    })
    expect([code, stderr]).toEqual([2, expect.stringContaining('error: drop.csv:3:4: image is a URL')])
    expect(stderr).toContain(' (and 1 more)')
    expect(stderr.split('\n').filter((line) => line.startsWith('::error '))).toEqual([
      expect.stringMatching(/^::error file=drop\.csv,line=3::image is a URL/),
      expect.stringMatching(/^::error file=drop\.csv,line=5::image is a URL/),
    ])
    expect(await readFile(path('summary.md'), 'utf8')).toMatch(/^\| 3 \| image is a URL.*\|\n\| 5 \| image is a URL/m)
    const { message, details } = errorOf(await gdn([...argv, '--json']))
    const place = { file: 'drop.csv', column: 4, field: 'image' }
    expect([message, details]).toEqual([
      'drop.csv:3:4: image is a URL, whose content can change before the reveal (and 1 more)',
      {
        issues: [3, 5].map((line) => expect.objectContaining({ place: { ...place, line } })),
        issue_count: 2,
      },
    ])
  })
})

test('batch validate checks the placeholder, and names the mint with it', async () => {
  const { validate } = await drop(URLS.replaceAll(REMOTE, 'a.txt'), { 'two.json': `[${PLACEHOLDER},${PLACEHOLDER}]` })
  expect((await validate('--unrevealed', 'two.json')).stderr).toContain('error: two.json: has 2 NFTs')
  const { code, stderr } = await validate(...UNREVEALED)
  expect([code, stderr]).toEqual([
    0,
    expect.stringMatching(/gdn batch mint drop\.csv .*--unrevealed hidden\.json --dry-run\n/),
  ])
})

test('the hint for a missing placeholder says what to create', async () => {
  const { validate } = await drop(URLS.replaceAll(REMOTE, 'a.txt'))
  const { stderr } = await validate('--unrevealed', 'nope.json')
  expect(stderr).toContain("error: nope.json: doesn't exist")
  expect(stderr).toContain('a JSON file with the metadata of one NFT (docs/reveal.md)')
  expect(stderr).not.toContain('template')
})
