import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cli, tempHome } from './harness.ts'

const CONTRACT = `0x${'c'.repeat(40)}`

async function home() {
  const { dir, env } = await tempHome()
  const gdn = (argv: string[], more: { env?: NodeJS.ProcessEnv; stdin?: string; tty?: boolean } = {}) =>
    cli(argv, { ...more, env: { ...env, ...more.env } })
  return { dir, env, gdn, file: join(dir, '.config', 'gdn', 'config.json') }
}

test('applies a setting in its profile until it is unset', async () => {
  const { gdn } = await home()
  expect((await gdn(['config', 'set', 'base_url', 'https://a.test'])).code).toBe(0)
  await gdn(['config', 'set', 'blockchain', 'polygon', '--profile', 'test'])
  await gdn(['config', 'set', 'rate', '2.5', '--profile', 'test'])
  expect((await gdn(['config', 'get', 'base_url'])).stdout).toBe('https://a.test\n')
  expect(JSON.parse((await gdn(['config', 'list', '--profile', 'test', '--json'])).stdout)).toEqual([
    { name: 'profile', value: 'test', from: '--profile' },
    { name: 'base_url', value: null, from: null },
    { name: 'blockchain', value: 'polygon', from: 'profile test' },
    { name: 'contract', value: null, from: null },
    { name: 'wallet', value: null, from: null },
    { name: 'rate', value: 2.5, from: 'profile test' },
  ])
  const removed = await gdn(['config', 'unset', 'base_url'], { tty: true })
  expect(removed.stderr).toBe('Removed base_url from profile default.\n')
  expect((await gdn(['config', 'get', 'base_url'])).code).toBe(2)
  const secondResult = await gdn(['config', 'unset', 'base_url'], { tty: true })
  expect(secondResult).toMatchObject({ code: 0, stderr: 'The profile default has no setting base_url.\n' })
})

test('config list says where the name of the profile comes from', async () => {
  const { gdn, file } = await home()
  await gdn(['config', 'set', 'rate', '2', '--profile', 'test'])
  const profileIn = async (env: NodeJS.ProcessEnv) =>
    JSON.parse((await gdn(['config', 'list', '--json'], { env })).stdout)[0]
  expect(await profileIn({ GDN_PROFILE: 'test' })).toEqual({ name: 'profile', value: 'test', from: 'GDN_PROFILE' })
  await gdn(['config', 'set', 'profile', 'test'])
  expect(await profileIn({})).toEqual({ name: 'profile', value: 'test', from: file })
})

test('config set profile selects the profile in use', async () => {
  const { gdn } = await home()
  await gdn(['config', 'set', 'contract', CONTRACT, '--profile', 'test'])
  await gdn(['config', 'set', 'profile', 'test'])
  expect((await gdn(['config', 'get', 'contract'])).stdout).toBe(`${CONTRACT}\n`)
})

test.each([
  [['contrat', 'x'], 'Did you mean contract?'],
  [['blockchain', 'polygn'], 'unknown blockchain "polygn"\n  Did you mean polygon?'],
  [['base_url', 'ftp://x'], 'must be an http(s) URL'],
  [['rate', '0x10'], 'must be a positive number'],
  [['rate', '-1'], 'must be a positive number'],
  [['contract', 'a\nb'], 'must be one line of text'],
  [['contract', 'vitalik.eth'], '"vitalik.eth" is a name, not an address: names aren\'t resolved'],
  [['wallet', 'vitаlik.eth'], '"vitаlik.eth" is not a valid ENS name: illegal mixture: Latin + Cyrillic'],
  [['contract', '0xc'], 'must have 40 hex digits after 0x, but has 1'],
])('config set rejects %j and changes nothing', async ([name = '', value = ''], message) => {
  const { gdn, file } = await home()
  const { code, stderr } = await gdn(['config', 'set', name, '--', value])
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
  await expect(stat(file)).rejects.toThrow()
})

test('rejects a key on the command line without repeating it, and saves a piped key for its server', async () => {
  const { gdn, dir } = await home()
  const setResult = await gdn(['config', 'set', 'api_key', 'hush-hush', '--base-url', 'https://a.test'])
  expect(setResult.code).toBe(2)
  expect(setResult.stderr).not.toContain('hush-hush')
  const piped = await gdn(['config', 'set', 'api_key', '-', '--base-url', 'https://a.test/x'], { stdin: 'hush-hush\n' })
  expect(piped.code).toBe(0)
  expect(piped.stderr + piped.stdout).not.toContain('hush-hush')
  const file = join(dir, '.config', 'gdn', 'credentials.json')
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ 'https://a.test': 'hush-hush' })
  expect((await stat(file)).mode & 0o777).toBe(0o600)
})

test('refuses to save a key if no server is selected', async () => {
  const { gdn } = await home()
  const { code, stderr } = await gdn(['config', 'set', 'api_key', '-'], { stdin: 'k' })
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('--base-url') })
})

test('config path prints the paths in use, and follows the environment', async () => {
  const { gdn } = await home()
  const { stdout } = await gdn(['config', 'path', '--json'], {
    env: { XDG_CONFIG_HOME: '/c', XDG_STATE_HOME: '/s', XDG_DATA_HOME: 'relative/is/ignored', GDN_STATE_DIR: '/mine' },
  })
  expect(JSON.parse(stdout)).toMatchObject({
    config: '/c/gdn/config.json',
    credentials: '/c/gdn/credentials.json',
    state: '/mine',
    local_data: expect.stringContaining('/.local/share/gdn/local'),
    wallets: expect.stringContaining('/.local/share/gdn/wallets'),
  })
})

test('config path uses the XDG directories for configuration, state and data', async () => {
  const { gdn } = await home()
  const env = { XDG_CONFIG_HOME: '/c', XDG_STATE_HOME: '/s', XDG_DATA_HOME: '/d' }
  expect(JSON.parse((await gdn(['config', 'path', '--json'], { env })).stdout)).toMatchObject({
    config: '/c/gdn/config.json',
    credentials: '/c/gdn/credentials.json',
    state: '/s/gdn',
    local_data: '/d/gdn/local',
    wallets: '/d/gdn/wallets',
  })
})

test('config list --profiles lists every profile, the built-in one included, and marks the one in use', async () => {
  const { gdn } = await home()
  await gdn(['config', 'set', 'base_url', 'https://a.test', '--profile', 'test'])
  await gdn(['config', 'set', 'profile', 'test'])
  const listed = JSON.parse((await gdn(['config', 'list', '--profiles', '--json'])).stdout)
  expect(listed).toMatchObject([
    { profile: 'local', in_use: false, base_url: null },
    { profile: 'test', in_use: true, base_url: 'https://a.test', rate: null },
  ])
  expect((await gdn(['config', 'list', '--profiles', '-o', 'ids'])).stdout).toBe('local\ntest\n')
})

test.each([
  [['config', 'set', 'profile', 'tset'], 'Did you mean test?'],
  [['config', 'unset', 'contract', '--profile', 'tset'], 'Did you mean test?'],
  [['config', 'get', 'contract', '--profile', 'tset'], 'Did you mean test?'],
  [['config', 'unset', 'contrct'], 'Did you mean contract?'],
])('rejects an unknown profile or setting and writes nothing: %j', async (argv, hint) => {
  const { gdn, file } = await home()
  await gdn(['config', 'set', 'contract', CONTRACT, '--profile', 'test'])
  const before = await readFile(file, 'utf8')
  const { code, stderr } = await gdn(argv)
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(hint) })
  expect(await readFile(file, 'utf8')).toBe(before)
})

test('config set profile names the setting of an unknown profile', async () => {
  const { gdn } = await home()
  const { stderr } = await gdn(['config', 'set', 'profile', 'nosuch'])
  expect(stderr).toMatch(/^error: profile: there is no profile "nosuch"/)
})

test('config get base_url in the profile local refers to the local backend', async () => {
  const { gdn } = await home()
  const { code, stderr } = await gdn(['config', 'get', 'base_url'], { env: { GDN_PROFILE: 'local' } })
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('Run `gdn local start`.') })
  expect(stderr).not.toContain('config set')
})

test('config get api_key refers to gdn auth status', async () => {
  const { gdn } = await home()
  const { code, stderr } = await gdn(['config', 'get', 'api_key'], { env: { GDN_API_KEY: 'hush-hush' } })
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('gdn auth status') })
})

test.each([
  ['table', 'https://a.test\n'],
  ['ids', 'https://a.test\n'],
  ['json', '{"name":"base_url","value":"https://a.test","from":"profile default"}\n'],
  ['csv', 'name,value,from\r\nbase_url,https://a.test,profile default\r\n'],
])('config get prints the value in the mode %s', async (mode, printed) => {
  const { gdn } = await home()
  await gdn(['config', 'set', 'base_url', 'https://a.test'])
  expect((await gdn(['config', 'get', 'base_url', '-o', mode])).stdout).toBe(printed)
})

test('config set and unset print their change as JSON with --json', async () => {
  const { gdn } = await home()
  const set = await gdn(['config', 'set', 'rate', '2.5', '--json'])
  expect({ ...set, stdout: JSON.parse(set.stdout) }).toEqual({
    code: 0,
    stdout: { name: 'rate', value: 2.5, profile: 'default' },
    stderr: '',
  })
  expect(JSON.parse((await gdn(['config', 'unset', 'rate', '--json'])).stdout)).toEqual({
    name: 'rate',
    profile: 'default',
  })
})
