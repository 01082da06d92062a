import { chmod, lstat, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { displayWidth } from '../../src/cli/text/display-width.ts'
import { CSV, folder, service, TARGET } from './batch/drop.ts'
import { CONTRACT, fakeApi, nft, OWNER } from './fake-api.ts'
import { cli, errorOf } from './harness.ts'

describe('bad input 6: an output file', () => {
  test('rejects a link and leaves its target unchanged', async () => {
    const { path, options } = await folder({ victim: 'theirs' })
    await symlink(path('victim'), path('log'))
    const result = await cli(['serve', '--port', '0', '--data-dir', path('data'), '--log-file', path('log')], options)
    expect(result).toMatchObject({ code: 2, stderr: expect.stringMatching(/--log-file: .*is a symbolic link/) })
    expect(await readFile(path('victim'), 'utf8')).toBe('theirs')
  })

  test('a page replaces a link only with --force, never its target, and goes where ../ leads', async () => {
    const { path, options } = await folder({ 'drop.csv': CSV, victim: 'theirs' })
    await mkdir(path('work'))
    await symlink(path('victim'), path('work/page.html'))
    const preview = (...argv: string[]) =>
      cli(['batch', 'preview', path('drop.csv'), ...TARGET, '--to', ...argv], { ...options, cwd: path('work') })
    expect(await preview('page.html')).toMatchObject({ code: 3, stderr: expect.stringContaining('--force') })
    expect((await lstat(path('work/page.html'))).isSymbolicLink()).toBe(true)
    expect(await preview('page.html', '--force')).toMatchObject({ code: 0 })
    expect((await lstat(path('work/page.html'))).isFile()).toBe(true)
    expect(await readFile(path('victim'), 'utf8')).toBe('theirs')
    expect(await preview('../up.html')).toMatchObject({ code: 0 })
    expect(await readFile(path('up.html'), 'utf8')).toContain('Dawn')
  })

  test('rejects a path in a missing folder and names the flag', async () => {
    const { path, options } = await folder({})
    const argv = ['serve', '--port', '0', '--data-dir', path('data'), '--log-file', '../none/serve.log']
    expect(await cli(argv, options)).toMatchObject({ code: 2, stderr: expect.stringContaining('--log-file: ') })
  })
})

describe('bad input 8: a key', () => {
  test('rejects a file that others can read, prints the command that fixes it, and never the key', async () => {
    const { path, options } = await folder({ 'key.txt': 'sesame-open-1234\n' })
    await chmod(path('key.txt'), 0o644)
    const argv = ['auth', 'login', '--no-check', '--base-url', 'https://a.test', '--key-file', path('key.txt')]
    const { code, stderr } = await cli(argv, options)
    expect({ code, stderr }).toMatchObject({
      code: 4,
      stderr: expect.stringContaining(`chmod 600 ${path('key.txt')}`),
    })
    expect(stderr).not.toContain('sesame')
  })

  test('rejects a key with CR LF inside a file too, and accepts one with a trailing line end', async () => {
    const { path, options } = await folder({})
    const login = async (key: string) => {
      await writeFile(path('key.txt'), key, { mode: 0o600 })
      return await cli(
        ['auth', 'login', '--no-check', '--base-url', 'https://a.test', '--key-file', path('key.txt')],
        options,
      )
    }
    const { code, stderr } = await login('sesame\r\nx-evil: 1\r\n')
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('one line of printable') })
    expect(stderr).not.toMatch(/sesame|evil/)
    expect((await login('sesame-open-1234\r\n')).code).toBe(0)
  })
})

test('bad input 16: mints one NFT for each of several identical rows that are allowed', async () => {
  const [head = '', row = ''] = CSV.split('\n')
  const { path, options } = await folder({ 'drop.csv': `${head}\n${row}\n${row}\n${row}\n` })
  const listing = { requests: { contract_address: CONTRACT, blockchain: 'polygon' }, nft_gdn_ids: [] }
  const api = await fakeApi({ ...service(), getnftgdnids: () => ({ body: listing }) } as never)
  const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', api.url, '--rate', '1000', '--json']
  const { code, stdout } = await cli([...argv, '--allow-duplicates'], options)
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ total: 3, deployed: 3 })
})

test('bad input 29: prints a megabyte of joined emoji or right-to-left text quickly, as one table line', async () => {
  const title = '👩‍👩‍👧‍👦'.repeat(42_000)
  const nfts = [title, 'שלום عالم', '漢字'.repeat(1000)].map((each, i) =>
    nft(`id-${i}`, { request_metadata: { title: each, description: '', file_fields: [] } }),
  )
  const api = await fakeApi({ getnfts: () => ({ body: { requests: { nft_gdn_ids: ['x'] }, nfts } }) })
  const { options } = await folder({})
  const begun = process.cpuUsage()
  const { code, stdout } = await cli(['nft', 'show', 'id-0', 'id-1', 'id-2', '--base-url', api.url], {
    ...options,
    tty: true,
    columns: 100,
  })
  expect(code).toBe(0)
  expect(stdout.length).toBeLessThan(5000)
  const lines = stdout.trimEnd().split('\n')
  expect(lines).toHaveLength(4)
  for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(100)
  for (const [i, line] of lines.slice(1).entries()) expect(line.trimEnd()).toMatch(new RegExp(`id-${i}$`))
  expect(stdout).toContain('שלום عالم')
  expect(process.cpuUsage(begun).user / 1000).toBeLessThan(10_000)
})

test('bad input 53: without a terminal, rejects what would prompt and names the flag that answers it', async () => {
  const { options } = await folder({})
  const { GDN_API_KEY: _key, ...env } = options.env
  for (const argv of [
    ['init'],
    ['nft', 'mint', '--base-url', 'http://127.0.0.1:9'],
    ['collection', 'create', '--base-url', 'http://127.0.0.1:9'],
  ]) {
    const { code, stdout, stderr } = await cli(argv, { ...options, env })
    expect({ argv, code, stdout }).toEqual({ argv, code: expect.toBeOneOf([2, 3, 4]), stdout: '' })
    expect(stderr).toMatch(/--[a-z]|gdn [a-z]+/)
  }
})

describe('bad input 53: a terminal of 20 columns', () => {
  test.each([
    ['help', ['nft', 'mint', '--help']],
    ['a table', ['nft', 'show', 'a', 'b']],
    ['one NFT', ['nft', 'show', 'a']],
    ['an error', ['nft', 'list', '--limit', 'many']],
  ])('shows %s in full', async (what, argv) => {
    const api = await fakeApi({
      '*': () => ({ body: { requests: { nft_gdn_ids: ['a', 'b'] }, nfts: argv.slice(2).map((id) => nft(id)) } }),
    })
    const { options } = await folder({})
    const asks = what === 'help' ? [] : ['--base-url', api.url]
    const { code, stdout, stderr } = await cli([...argv, ...asks], {
      ...options,
      tty: true,
      stderrTty: true,
      columns: 20,
    })
    expect(code, stderr).toBe(what === 'an error' ? 2 : 0)
    const text = stdout + stderr
    expect(text).toMatch(what === 'an error' ? /--limit/ : what === 'help' ? /--receiver/ : /deployed/)
    if (what === 'help') return
    expect(text).not.toContain('…')
    // Only a word that is longer than a line goes beyond it.
    for (const line of text.split('\n')) expect(line.slice(20)).not.toContain(' ')
  })
})

test('bad input 49: works in a linked home with spaces, emoji and quotes in its name', async () => {
  const { path, options } = await folder({})
  const odd = path(`my "home" 🏠 it's`)
  await mkdir(odd)
  await symlink(odd, path('link'))
  const env = { ...options.env, HOME: path('link') }
  expect(await cli(['config', 'set', 'wallet', OWNER], { ...options, env })).toMatchObject({ code: 0 })
  const { stdout } = await cli(['config', 'get', 'wallet', '--json'], { ...options, env })
  expect(JSON.parse(stdout)).toMatchObject({ value: OWNER })
  expect(await readFile(join(odd, '.config/gdn/config.json'), 'utf8')).toContain(OWNER)
})

test('bad input 7: reports duplicate keys in the user configuration with their line', async () => {
  const { path, options } = await folder({})
  await mkdir(path('.config/gdn'), { recursive: true })
  await writeFile(path('.config/gdn/config.json'), '{\n"profile": "a",\n"profile": "b"\n}')
  const result = await cli(['config', 'list', '--json'], options)
  expect(result.code).toBe(2)
  expect(errorOf(result).message).toMatch(/config\.json:3:1: .*is repeated/)
})

describe('an address with a wrong length or checksum is an error of its argument in', () => {
  const SHORT = CONTRACT.slice(0, -1)
  const MISTYPED = CONTRACT.replace(/[a-f]/, (letter) => letter.toUpperCase())
  const REASON = {
    [SHORT]: 'must have 40 hex digits after 0x, but has 39',
    [MISTYPED]: 'has a wrong checksum (EIP-55)',
  }

  test.each([
    ['collection show', '<id-or-address>', (address: string) => [address]],
    ['nft show', '<nft_gdn_id>', (address: string) => [`${address}/1`]],
    ['nft verify', '<nft_gdn_id>', (address: string) => [`${address}/1`, '-b', 'polygon']],
    ['nft verify', '--receiver', (address: string) => ['id-1', '--receiver', address]],
    ['collection holders', '<address>', (address: string) => [address]],
    ['batch validate', '--contract', (address: string) => ['drop.csv', '-c', address]],
    [
      'collection create',
      '--royalty-receiver',
      (address: string) =>
        `--name X -b polygon --wallet ${OWNER} --royalty 5% --dry-run --royalty-receiver ${address}`.split(' '),
    ],
  ])('%s: %s', async (command, place, argv) => {
    const { options } = await folder({ 'drop.csv': 'title,receiver\nDawn,0x12\n' })
    const api = await fakeApi({})
    for (const [address, reason] of Object.entries(REASON)) {
      const result = await cli([...command.split(' '), ...argv(address), '--json', '--base-url', api.url], options)
      expect(result.code, result.stderr).toBe(2)
      expect(errorOf(result).message).toContain(`${place}: "${address}" ${reason}`)
    }
    expect(api.calls).toEqual([])
  })
})
