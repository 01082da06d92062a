import { expect, test } from 'vitest'
import { CSV, folder, service, TARGET } from './batch/drop.ts'
import { fakeApi, OWNER } from './fake-api.ts'
import { cli, errorOf } from './harness.ts'

test.each([
  [['nft', 'mint', '--title', 'Dawn', '–description', 'x'], '–description', '--description'],
  [['nft', 'mint', '—title=Dawn'], '—title', '--title'],
  [['–b', 'polygon', 'nft', 'list'], '–b', '-b'],
  [['batch', 'status', '−json'], '−json', '--json'],
  [['nft', 'show', '-–watch'], '-–watch', '--watch'],
])('names a flag with a typographic dash, and how to type it: %j', async (argv, typed, suggestion) => {
  const { code, stderr } = await cli(argv, { env: { GDN_API_KEY: 'key' } })
  expect(code).toBe(2)
  expect(stderr).toContain(`"${typed}" begins with a typographic dash, not with hyphens`)
  expect(stderr).toContain(`Type it as ${suggestion}.`)
})

test('leaves dashes in values and after -- as they are', async () => {
  const { options } = await folder()
  const { url } = await fakeApi(service())
  const argv = ['nft', 'mint', '--title', '—Dawn', ...TARGET, '--receiver', OWNER, '--base-url', url, '--json']
  const { code, stdout } = await cli(argv, options)
  expect({ code, title: JSON.parse(stdout).request_metadata.title }).toEqual({ code: 0, title: '—Dawn' })
  expect((await cli(['batch', 'status', '--', '—x'], options)).stderr).not.toContain('typographic')
})

const QUOTES = 'An argument has typographic quotes'

test.each([
  ['a value that a flag rejects', ['nft', 'list', '-b', '“polygon”']],
  ['words that are too many', ['nft', 'mint', '--title', '“Low', 'Moon”', '--receiver', OWNER]],
])('says that a shell does not know typographic quotes: %s', async (_, argv) => {
  const { code, stderr } = await cli(argv)
  expect(code).toBe(2)
  expect(stderr).toContain(QUOTES)
})

test.each([
  ['“0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359”', 'is in quotes: remove them', 'is in quotes: remove them'],
  [
    'vitalik.eth',
    'is an ENS name, and no Ethereum node is configured to resolve it',
    'vitalik.eth is an ENS name, and no Ethereum node is configured to resolve it',
  ],
])('an address of another form gets a sentence of its own: %s', async (address, inFlag, inManifest) => {
  const result = await cli(['nft', 'mint', '--title', 'Dawn', ...TARGET, '--receiver', address, '--json'], {
    env: { GDN_API_KEY: 'key', GDN_BASE_URL: 'http://127.0.0.1:9' },
  })
  expect(result.code).toBe(2)
  expect(errorOf(result).message).toContain(inFlag)
  const { path, options } = await folder({ 'drop.csv': CSV.replaceAll(OWNER, address) })
  const validated = await cli(['batch', 'validate', path('drop.csv'), '-b', 'polygon'], options)
  expect(validated.stderr).toContain(inManifest)
})

test('warns of quotes around a title, in a manifest and in a flag', async () => {
  const rows = `id,title,description,receiver,image\n1,“Dawn”,x,${OWNER},https://example.com/1.png\n`
  const { path, options } = await folder({ 'drop.csv': `${rows}2,Dusk,x,${OWNER},https://example.com/2.png\n` })
  const { code, stdout } = await cli(['batch', 'validate', path('drop.csv'), ...TARGET, '--json'], options)
  expect({ code, warnings: JSON.parse(stdout).warnings }).toMatchObject({
    code: 0,
    warnings: [{ place: { line: 2, field: 'title' }, message: 'the title is in quotes, which become part of the NFT' }],
  })
  const { url } = await fakeApi(service())
  const mint = ['nft', 'mint', '--title', '"Dawn"', ...TARGET, '--receiver', OWNER, '--base-url', url]
  expect((await cli(mint, options)).stderr).toContain(
    'warning: --title: the value is in quotes, which become part of it',
  )
})

test('prints many equal errors as one, with their number and the first places', async () => {
  const row = (id: number, receiver: string) => `${id},T,x,${receiver},https://example.com/${id}.png\n`
  const rows = Array.from({ length: 50 }, (_, i) => row(i, 'me@example.com')).join('')
  const manifest = `id,title,description,receiver,image\n${rows}${row(50, '“0x12”')}`
  const { path, options } = await folder({ 'drop.csv': manifest })
  const { stderr } = await cli(['batch', 'validate', path('drop.csv'), '-b', 'polygon'], options)
  expect(stderr.split('\n').slice(0, 3)).toEqual([
    expect.stringMatching(/drop\.csv:2:4: receiver .*40 hex digits.* \(50 times: on lines 2, 3, 4, 5, 6, …\)$/),
    expect.stringMatching(/^ {2}.*drop\.csv:52:4: receiver is in quotes/),
    '  Run `gdn help manifest` for columns and formats.',
  ])
})

test('a missing plan suggests a plan, not a template of a manifest', async () => {
  const { options } = await folder()
  const { code, stderr } = await cli(['apply', 'plan.json', ...TARGET], options)
  expect(code).toBe(2)
  expect(stderr).toContain('gdn plan <manifest> --out <file>')
  expect(stderr).not.toContain('batch template')
})
