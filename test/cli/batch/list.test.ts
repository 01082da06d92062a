import { rename, rm, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { shellWord } from '../../../src/core/shell-word.ts'
import { CONTRACT, fakeApi, type Reply } from '../fake-api.ts'
import { type CliOptions, cli, errorOf } from '../harness.ts'
import { folder, service, TARGET } from './drop.ts'

const wallet = (n: number) => `0x${String(n).padStart(40, '5')}`
const [A, B, C, D] = [wallet(1), wallet(2), wallet(3), wallet(4)]
const ROW = { title: 'Ticket', description: 'for holders', image: 'https://example.com/t.png' }
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const png = (end: string) => Buffer.concat([Buffer.from(PIXEL, 'base64'), Buffer.from(end)])
const STORED = 'ipfs://bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'
const json = (row: object) => JSON.stringify(row)
const list = (...lines: string[]) => `receiver,count\n${lines.join('\n')}\n`
const without = (values: readonly string[], count: number) => expect(values).toHaveLength(count)

/** A folder with a row and a list, a service, and the commands for them. */
async function holders(text: string, more: Record<string, string> = {}) {
  const { path, options } = await folder({ 'row.json': json(ROW), 'holders.csv': text, ...more })
  const api = await fakeApi(service())
  const url = ['--base-url', api.url]
  const server = [...url, '--json']
  const run = (argv: readonly string[], moreOptions: Partial<CliOptions> = {}) =>
    cli(argv, { ...options, ...moreOptions })
  const mint = (...flags: string[]) =>
    run(['batch', 'mint', path('row.json'), '--to', path('holders.csv'), ...TARGET, ...server, ...flags])
  /** The receivers of all requests, once for each NFT, in their order. */
  const received = () =>
    (api.bodies('createnft') as { receiver_wallet_address: string; metadata: unknown[] }[])
      .flatMap(({ receiver_wallet_address, metadata }) => metadata.map(() => receiver_wallet_address.toLowerCase()))
      .sort()
  return { path, run, mint, received, server, url, api }
}

describe('batch mint with a list of receivers', () => {
  test('mints the row to each receiver as often as its count says, in one ordinary run', async () => {
    const { mint, received, run, path, server, api } = await holders(list(`${A},2`, `${B},1`))
    const { code, stdout, stderr } = await mint()
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(received()).toEqual([A, A, B])
    expect(api.bodies('createnft')).toContainEqual(
      expect.objectContaining({ metadata: [expect.objectContaining({ title: 'Ticket' }), expect.anything()] }),
    )
    const summary = JSON.parse(stdout) as { run: string }
    expect(summary).toMatchObject({ total: 3, deployed: 3 })
    expect(summary.run).toMatch(/^row\.json-holders\.csv-/)
    const results = await run(['batch', 'results', path('row.json'), '--json'])
    expect(JSON.parse(results.stdout)).toMatchObject([
      { key: `${A}#1`, line: 2, status: 'deployed' },
      { key: `${A}#2`, line: 2 },
      { key: `${B}#1`, line: 3 },
    ])
    for (const name of [path('row.json'), summary.run, 'row.json+holders.csv']) {
      expect(JSON.parse((await run(['batch', 'status', name, '--json'])).stdout)).toMatchObject({ deployed: 3 })
      expect(await run(['batch', 'resume', name, ...server])).toMatchObject({ code: 0 })
    }
    expect(await mint()).toMatchObject({ code: 0, stdout: expect.stringContaining('Nothing is left to do') })
    expect(received()).toEqual([A, A, B])
  })

  test('plans the list without sending anything with --dry-run', async () => {
    const { path, options } = await folder({ 'row.json': json(ROW), 'holders.csv': list(`${A},2`, `${B},1`) })
    const api = await fakeApi({})
    const argv = ['batch', 'mint', path('row.json'), '--to', path('holders.csv'), ...TARGET, '--base-url', api.url]
    const { code, stdout } = await cli([...argv, '--dry-run', '--json'], options)
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ rows: 3, to_send: 3, receivers: 2 })
    expect(api.bodies('createnft')).toEqual([])
  })

  test('mints only what is new in a changed list, without a flag, and names the change', async () => {
    const { mint, received, run, path, url } = await holders(list(`${A},1`, `${B},1`, `${C},1`))
    await mint()
    await writeFile(path('holders.csv'), list(`${D},1`, `${C.toUpperCase().replace('X', 'x')},2`))
    const changed = await run(['batch', 'mint', path('row.json'), '--to', path('holders.csv'), ...TARGET, ...url])
    expect(changed).toMatchObject({ code: 0 })
    expect(changed.stderr).not.toContain('no row has an ID')
    expect(changed.stderr).toContain(
      'The list changed: 1 receiver is new, 2 are no longer in the list (2 NFTs added, 2 removed).',
    )
    expect(received()).toEqual([A, B, C, C, D])
    await writeFile(path('holders.csv'), list(`${A},1`, `${B},1`, `${C},1`, `${D},1`))
    expect(await mint()).toMatchObject({ code: 0 })
    expect(received()).toEqual([A, B, C, C, D])
  })

  test.each([
    ['with the same list', list(`${A},1`), 'title'],
    ['with new receivers only', list(`${B},1`), 'title'],
  ])('refuses an edited row %s, and mints it as another run', async (_which, text) => {
    const { mint, received, path } = await holders(list(`${A},1`))
    await mint()
    await writeFile(path('row.json'), json({ ...ROW, title: 'Other', extra: undefined }))
    await writeFile(path('holders.csv'), text)
    const refused = await mint()
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(errorOf(refused)).toMatchObject({
      code: 'edited_rows',
      message: expect.stringMatching(/row\.json: the row of the run .* was edited: title$/),
      hint: expect.stringContaining('--run <name>'),
    })
    without(received(), 1)
    expect(await mint('--run', 'other', '--no-lookup')).toMatchObject({ code: 0 })
    without(received(), 2)
  })

  test('refuses a replaced image if receivers are left', async () => {
    const row = { ...ROW, image: 'ticket.png' }
    const { path, options } = await folder({
      'row.json': json(row),
      'holders.csv': list(`${A},1`),
      'ticket.png': png('a'),
    })
    const api = await fakeApi({ ...service(), files: () => ({ body: { url: STORED } }) })
    const server = ['--base-url', api.url, '--json']
    const mint = () =>
      cli(['batch', 'mint', path('row.json'), '--to', path('holders.csv'), ...TARGET, ...server], options)
    expect(await mint()).toMatchObject({ code: 0 })
    await writeFile(path('ticket.png'), png('b'))
    expect(await mint()).toMatchObject({ code: 0 })
    await writeFile(path('holders.csv'), list(`${A},1`, `${B},1`))
    const refused = await mint()
    expect(errorOf(refused)).toMatchObject({
      code: 'edited_rows',
      message: expect.stringMatching(/was edited: image$/),
    })
    await writeFile(path('ticket.png'), png('a'))
    expect(await mint()).toMatchObject({ code: 0 })
    expect(api.bodies('createnft')).toHaveLength(2)
  })

  test.each(['the list', 'the manifest'])(
    'mints an NFT that a list and a manifest with IDs share only once, if %s is first',
    async (first) => {
      const manifest = json([{ ...ROW, id: 'vip', receiver: A }])
      const { mint, received, run, path, server } = await holders(list(`${A},1`), { 'vip.json': manifest })
      const mintVip = (...flags: string[]) => run(['batch', 'mint', path('vip.json'), ...TARGET, ...server, ...flags])
      const [one, other] = first === 'the list' ? [mint, mintVip] : [mintVip, mint]
      expect(await one('--no-lookup')).toMatchObject({ code: 0 })
      expect(errorOf(await other('--no-lookup'))).toMatchObject({ code: 'already_accepted' })
      expect(received()).toEqual([A])
      expect(await other('--no-lookup', '--again', '--run', 'more')).toMatchObject({ code: 0 })
      expect(received()).toEqual([A, A])
    },
  )

  test('refuses the same NFT for the same receiver in another run, unless --again is given', async () => {
    const { mint, received, path } = await holders(list(`${A},1`))
    await mint()
    await rename(path('holders.csv'), path('copy.csv'))
    await writeFile(path('holders.csv'), list(`${A},1`))
    const second = await mint('--run', 'second', '--no-lookup')
    expect(second).toMatchObject({ code: 2 })
    expect(errorOf(second)).toMatchObject({ code: 'already_accepted', hint: expect.stringContaining('--again') })
    expect(await mint('--run', 'second', '--no-lookup', '--again')).toMatchObject({ code: 0 })
    expect(received()).toEqual([A, A])
  })

  test('reads the list from standard input, and needs --run for it', async () => {
    const { run, received, path, server } = await holders('')
    const argv = ['batch', 'mint', path('row.json'), '--to-stdin', ...TARGET, ...server]
    const unnamed = await run(argv, { stdin: `${A}\n` })
    expect(unnamed).toMatchObject({ code: 2 })
    expect(errorOf(unnamed)).toMatchObject({ code: 'usage', message: expect.stringContaining('--run') })
    without(received(), 0)
    expect(await run([...argv, '--run', 'piped'], { stdin: `${A}\n` })).toMatchObject({ code: 0 })
    expect(await run([...argv, '--run', 'piped'], { stdin: `${A}\n${B}\n` })).toMatchObject({ code: 0 })
    expect(received()).toEqual([A, B])
    expect(JSON.parse((await run(['batch', 'status', 'piped', '--json'])).stdout)).toMatchObject({ deployed: 2 })
  })

  test('adds the counts of receivers that are listed several times with --merge', async () => {
    const { mint, received, path } = await holders(list(`${A},2`, `${B},1`, `${A},1`))
    const refused = await mint()
    expect(refused).toMatchObject({ code: 2 })
    expect(errorOf(refused)).toMatchObject({
      message: `${path('holders.csv')}:4:1: receiver is already on line 2`,
      hint: expect.stringContaining('--merge'),
    })
    expect(await mint('--merge')).toMatchObject({ code: 0 })
    expect(received()).toEqual([A, A, A, B])
  })

  test.each([
    [
      'a receiver in the row',
      { ...ROW, receiver: B },
      [],
      "row.json:1: receiver can't be used with a list of receivers",
    ],
    ['an ID in the row', { ...ROW, id: 'x' }, [], "row.json:1: id can't be used"],
    ['two rows', [ROW, ROW], [], 'row.json:1: is a second row'],
    ['a bad row', { ...ROW, title: '' }, [], 'title'],
    ['--receiver', ROW, ['--receiver', B], "--receiver: can't be used with --to"],
    ['--unrevealed', ROW, ['--unrevealed', 'x.json'], "--unrevealed: can't be used with --to"],
    ['--to-stdin', ROW, ['--to-stdin'], "--to: can't be used with --to-stdin"],
  ])('rejects %s, and sends nothing', async (_what, row, flags, message) => {
    const { path, options } = await folder({ 'row.json': json(row), 'holders.csv': list(`${A},1`) })
    const api = await fakeApi({})
    const argv = ['batch', 'mint', path('row.json'), '--to', path('holders.csv'), ...TARGET, '--base-url', api.url]
    const result = await cli([...argv, ...flags, '--json'], options)
    expect(result).toMatchObject({ code: 2, stdout: '' })
    expect(errorOf(result).message).toContain(message)
    expect(api.bodies('createnft')).toEqual([])
  })

  test('rejects a missing list, a CSV manifest, and flags that need a list', async () => {
    const files = { 'row.json': json(ROW), 'row.csv': 'title,description\nx,y\n', 'holders.csv': list(`${A},1`) }
    const { path, options } = await folder(files)
    const api = await fakeApi({})
    const errorOfMint = async (...argv: string[]) =>
      errorOf(await cli(['batch', 'mint', ...argv, ...TARGET, '--base-url', api.url, '--json'], options)).message
    expect(await errorOfMint(path('row.json'), '--to', path('gone.csv'))).toBe(`${path('gone.csv')}: doesn't exist`)
    expect(await errorOfMint(path('row.csv'), '--to', path('holders.csv'))).toBe(`${path('row.csv')}: is not JSON`)
    expect(await errorOfMint(path('row.json'), '--merge')).toContain('--merge: requires a list of receivers')
    expect(await errorOfMint(path('row.json'), '--skip-contracts')).toContain('--skip-contracts: requires a list')
  })

  test('escapes terminal sequences from the list', async () => {
    const { path, options } = await folder({ 'row.json': json(ROW), 'holders.csv': `receiver,\u001b[31mred\n${A},1\n` })
    const api = await fakeApi({})
    const argv = ['batch', 'mint', path('row.json'), '--to', path('holders.csv'), ...TARGET, '--base-url', api.url]
    const { code, stderr } = await cli(argv, options)
    expect(code).toBe(2)
    expect(stderr).toContain('holders.csv:1:2: unknown column')
    expect(stderr).not.toContain('\u001b')
  })

  test('refuses to mint a run of a list without the list, and a run of a manifest with one', async () => {
    const { mint, run, path, server, received } = await holders(list(`${A},1`), {
      'drop.csv': `title,description,receiver\nx,y,${B}\n`,
    })
    await mint('--run', 'listed')
    const plain = ['batch', 'mint', path('drop.csv'), ...TARGET, ...server]
    const withoutList = await run([...plain, '--run', 'listed', '--new-rows'])
    expect(errorOf(withoutList).message).toMatch(/^--to: is missing: the run listed-/)
    await run([...plain, '--run', 'plain'])
    expect(errorOf(await mint('--run', 'plain')).message).toMatch(/^--to: the run plain-\w+ has no list of receivers/)
    expect(received()).toEqual([A, B])
  })

  test('names the list of the run if --to is missing', async () => {
    const { mint, run, path, server, url } = await holders(list(`${A},1`))
    await mint()
    const to = `--to ${shellWord(path('holders.csv'))}`
    const how = `gdn batch mint ${shellWord(path('row.json'))} --contract ${CONTRACT} --blockchain polygon ${to} ${url.join(' ')}\``
    const plain = ['batch', 'mint', path('row.json'), '--receiver', A]
    const named = 'row.json+holders.csv'
    expect(errorOf(await run([...plain, ...TARGET, ...server])).hint).toContain(how)
    expect(errorOf(await run([...plain, ...TARGET, ...server, '--run', named])).hint).toContain(how)
    const warning = `${path('row.json')} was minted to a list of receivers. To mint to the list of the run`
    const other = [...plain, '-c', D, '-b', 'polygon', ...url]
    const { code, stderr } = await run(other)
    expect(code).toBe(0)
    expect(stderr).toContain(warning)
    expect(stderr).toContain(how)
    expect((await run(other)).stderr).not.toContain(warning)
  })

  test('finds a run by its list, and shows the list of each run of a manifest', async () => {
    const { mint, run, path, server } = await holders(list(`${A},1`), { 'others.csv': list(`${B},1`) })
    const toOthers = ['batch', 'mint', path('row.json'), '--to', path('others.csv'), '--again']
    const first = JSON.parse((await mint()).stdout).run
    const second = JSON.parse((await run([...toOthers, ...TARGET, ...server])).stdout).run
    for (const [file, name] of [
      ['holders.csv', first],
      ['others.csv', second],
    ]) {
      const status = await run(['batch', 'status', path(file), '--json'])
      expect(JSON.parse(status.stdout)).toMatchObject({ run: name })
    }
    const { message, hint } = errorOf(await run(['batch', 'status', path('row.json'), '--json']))
    for (const file of ['holders.csv', 'others.csv']) expect(message).toContain(`${path('row.json')} to ${path(file)}`)
    expect(hint).toContain(`or its name, such as ${second}`)
    const byList = await run(['batch', 'status', path('others.csv')], { tty: true })
    expect(byList.stderr).toContain(
      `The manifest has other runs: ${first}. Run \`gdn batch status <run>\` to show one.`,
    )
    expect((await run(['batch', 'status', second], { tty: true })).stderr).not.toContain('other runs')
  })

  test('status and results name the earlier run of a manifest and list that were minted --again', async () => {
    const { mint, run, path } = await holders(list(`${A},1`))
    const first = JSON.parse((await mint()).stdout).run
    const second = JSON.parse((await mint('--again')).stdout).run
    for (const verb of ['status', 'results']) {
      const { stdout, stderr } = await run(['batch', verb, path('holders.csv')])
      expect(stderr).toContain(`The manifest has other runs: ${first}. Run \`gdn batch ${verb} <run>\` to show one.`)
      if (verb === 'status') expect(stdout).toContain(second)
      expect((await run(['batch', verb, first])).stderr).not.toContain('other runs')
    }
  })

  test('lists the runs with a list if none has this list', async () => {
    const { mint, run, path } = await holders(list(`${A},1`), { 'others.csv': list(`${B},1`) })
    const { run: name } = JSON.parse((await mint()).stdout)
    const { hint } = errorOf(await run(['batch', 'status', path('others.csv'), '--json']))
    const [head, first] = (hint ?? '').split('\n')
    expect(head).toBe('These runs have a list of receivers:')
    expect(first).toContain(`  ${name}  `)
    expect(first).toContain(` to ${path('holders.csv')}`)
  })

  test('warns of a changed list when it resumes, and names the command that mints what is new', async () => {
    const fails = { createnft: (): Reply => ({ status: 400, body: { error: { title: 'Bad', message: 'no' } } }) }
    const { path, options } = await folder({ 'row.json': json(ROW), 'holders.csv': list(`${A},1`) })
    const api = await fakeApi(fails)
    const run = (argv: readonly string[]) => cli(argv, options)
    const argv = ['batch', 'mint', path('row.json'), '--to', path('holders.csv'), ...TARGET, '--base-url', api.url]
    await run(argv)
    await writeFile(path('holders.csv'), list(`${A},1`, `${B},1`))
    const { stderr } = await run(['batch', 'resume', path('row.json'), '--base-url', api.url])
    expect(stderr).toContain('1 receiver is new, 0 are no longer in the list')
    expect(stderr).toContain(`gdn batch mint ${shellWord(path('row.json'))} --to ${shellWord(path('holders.csv'))}`)
    await rm(path('holders.csv'))
    expect((await run(['batch', 'results', path('row.json')])).stderr).not.toContain('changed')
  })
})
