import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { filesHolding, textHolds } from '../helpers/leaks.ts'
import { memoryKeyring } from '../helpers/memory-keyring.ts'
import { type FakeApi, fakeApi, OWNER } from './fake-api.ts'
import { type CliOptions, cli, tempHome } from './harness.ts'

const KEY = 'gdn_0123456789abcdefghijklmnopqrstuvwxyz'

async function server(): Promise<FakeApi> {
  return await fakeApi({
    getisgdnnft: (body: object, { headers }) =>
      headers['x-api-key'] === KEY
        ? { body: { requests: { nft_gdn_id: 'x', ...body }, response: { isgdnnft: false } } }
        : { status: 401, body: { error: { title: 'Unauthorized', message: 'no' } } },
  })
}

async function home() {
  const { dir, env } = await tempHome()
  const gdn = (argv: string[], options: CliOptions = {}) => cli(argv, { ...options, env: { ...env, ...options.env } })
  const file = join(dir, '.config', 'gdn', 'config.json')
  const config = async () => JSON.parse(await readFile(file, 'utf8'))
  const isThere = (path: string) => stat(path).then(Boolean, () => false)
  return { dir, gdn, file, config, isThere }
}

test('checks and saves the key, writes the profile, and suggests the next command, without a terminal', async () => {
  const { dir, gdn, config } = await home()
  const { url, calls } = await server()
  const keyring = memoryKeyring()
  const argv = [
    'init',
    '--hosted',
    '--base-url',
    `${url}/`,
    '--key-file',
    '-',
    '-b',
    'polygon-mumbai',
    '--wallet',
    OWNER,
  ]
  const { code, stdout, stderr } = await gdn(argv, { stdin: `${KEY}\n`, keyring })
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
  expect(stderr).toContain('The server and the key work.')
  expect(stderr).toContain(
    `Create a collection: gdn collection create --name 'First light'\nMint an NFT in the collection: gdn nft mint --title Dawn --receiver ${OWNER}\nList the NFTs of the collection: gdn nft list\n`,
  )
  expect(calls).toHaveLength(1)
  expect(await config()).toEqual({
    profile: 'default',
    profiles: { default: { base_url: url, blockchain: 'polygon-mumbai', wallet: OWNER } },
  })
  expect(keyring.entries).toEqual(new Map([[url, KEY]]))
  expect(await filesHolding(dir, KEY)).toEqual([])
  expect(textHolds(stderr, KEY)).toBe(false)

  // The configuration is in effect.
  const listed = JSON.parse((await gdn(['config', 'list', '--json'], { keyring })).stdout)
  expect(listed).toContainEqual({ name: 'blockchain', value: 'polygon-mumbai', from: 'profile default' })
})

test('suggests a wallet of the service, with what it needs without a terminal', async () => {
  const { gdn } = await home()
  const { url } = await server()
  const { stderr } = await gdn(['init', '--base-url', url, '--key-file', '-', '--store', 'file'], { stdin: KEY })
  expect(stderr).toContain(
    'Generate a wallet (needs the permission wallet:create): gdn wallet generate --name alice --email <address>\n',
  )
})

test('needs no blockchain or wallet, and prints only the result with --json', async () => {
  const { gdn } = await home()
  const { url } = await server()
  const { stdout, stderr } = await gdn(
    ['init', '--base-url', url, '--key-file', '-', '--profile', 'work', '--store', 'file', '--json'],
    { stdin: KEY },
  )
  expect(stderr).toBe('')
  expect(JSON.parse(stdout)).toEqual({
    profile: 'work',
    base_url: url,
    key: 'file',
    blockchain: null,
    wallet: null,
    checked: true,
  })
})

test('checks GDN_API_KEY without saving it, and uses a saved key', async () => {
  const { dir, gdn } = await home()
  const { url, calls } = await server()
  const fromEnvironment = await gdn(['init', '--base-url', url], { env: { GDN_API_KEY: KEY } })
  expect(fromEnvironment).toMatchObject({ code: 0, stderr: expect.stringContaining('GDN_API_KEY') })
  expect(await filesHolding(dir, KEY)).toEqual([])
  await gdn(['auth', 'login', '--base-url', url, '--no-check'], { stdin: KEY })
  expect((await gdn(['init', '--base-url', url])).code).toBe(0)
  expect(calls).toHaveLength(2)
})

describe('invalid input', () => {
  test('writes nothing for a key that the server rejects', async () => {
    const { dir, gdn, file, isThere } = await home()
    const { url } = await server()
    const { code, stderr } = await gdn(['init', '--base-url', url, '--key-file', '-'], { stdin: 'wrong-key-of-mine' })
    expect({ code, stderr }).toMatchObject({ code: 4, stderr: expect.stringContaining('nothing was written') })
    expect(await isThere(file)).toBe(false)
    expect(await filesHolding(dir, 'wrong-key-of-mine')).toEqual([])
  })

  test.each([
    ['no kind of server', [], '--hosted'],
    ['no URL', ['--hosted'], '--base-url'],
    ['no key', ['--base-url', 'https://a.test'], '--key-file'],
    ['two servers', ['--local', '--base-url', 'https://a.test'], 'select different servers'],
    ['a plain HTTP URL', ['--base-url', 'http://a.test', '--key-file', '-'], 'clear text'],
    ['an invalid URL', ['--base-url', 'a.test', '--key-file', '-'], '--base-url: "a.test" is not the URL'],
    ['a wallet of another chain', ['--local', '-b', 'solana', '--wallet', OWNER], '--wallet'],
    ['an invalid profile name', ['--base-url', 'https://a.test', '--profile', '../x'], '--profile'],
    ['the name of the built-in profile', ['--base-url', 'https://a.test', '--profile', 'local'], '--profile'],
    ['a key for the local backend', ['--local', '--key-file', '-'], '--key-file'],
    ['another name for the local backend', ['--local', '--profile', 'mine'], '--profile'],
  ])('writes nothing with %s, and names the flag', async (_what, argv, message) => {
    const { gdn, file, isThere } = await home()
    const { code, stderr } = await gdn(['init', ...argv], { stdin: KEY })
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
    expect(await isThere(file)).toBe(false)
  })
})

test('replaces a profile for another server only with --yes, and drops the settings of the old server', async () => {
  const { gdn, config } = await home()
  const old = 'https://old.test'
  await gdn(['config', 'set', 'base_url', old])
  await gdn(['config', 'set', 'contract', `0x${'c'.repeat(40)}`])
  const { url } = await server()
  const argv = ['init', '--base-url', url, '--key-file', '-']
  const refused = await gdn(argv, { stdin: KEY })
  expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining('--yes') })
  expect((await config()).profiles.default).toEqual({ base_url: old, contract: `0x${'c'.repeat(40)}` })
  expect((await gdn([...argv, '--yes'], { stdin: KEY })).code).toBe(0)
  expect((await config()).profiles.default).toEqual({ base_url: url })
})

test.each([
  ['an empty --key-file', ['--key-file', '-'], ''],
  ['no key', [], '--key-file'],
])('reports %s before it asks whether to replace a profile', async (_what, argv, flag) => {
  const { gdn } = await home()
  await gdn(['config', 'set', 'base_url', 'https://old.test'])
  const { code, stderr } = await gdn(['init', '--hosted', '--base-url', 'https://new.test', ...argv])
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringMatching(/API key/) })
  expect(stderr).toContain(flag)
  expect(stderr).not.toContain('--yes')
})

describe('a profile that something overrides', () => {
  test.each<[string, NodeJS.ProcessEnv]>([
    ['GDN_PROFILE', { GDN_PROFILE: 'local' }],
    ['GDN_BASE_URL', { GDN_BASE_URL: 'https://other.test' }],
  ])('init names %s, and the profile in its next commands', async (name, env) => {
    const { gdn } = await home()
    const { url } = await server()
    const argv = ['init', '--base-url', url, '--key-file', '-', '--store', 'file', '--wallet', OWNER]
    const { code, stderr } = await gdn(argv, { env, stdin: KEY })
    expect(code).toBe(0)
    expect(stderr).toContain(`${name} is set to ${env[name]} and overrides the saved profile until you unset`)
    expect(stderr).toContain(`The profile default is saved: ${url}.`)
    expect(stderr).not.toContain('in use')
    const commands = [...stderr.matchAll(/: (gdn .*)/g)].map(([, command]) => command)
    expect(commands).toHaveLength(3)
    for (const command of commands) expect(command).toContain(' --profile default')
    // The flag selects the saved profile in spite of the variable.
    const listed = await gdn(['config', 'list', '--profile', 'default', '--json'], { env })
    expect(JSON.parse(listed.stdout)).toContainEqual({ name: 'base_url', value: url, from: 'profile default' })
  })

  test('init --local names --local in its next commands', async () => {
    const { gdn } = await home()
    const { stderr } = await gdn(['init', '--local', '-b', 'polygon'], { env: { GDN_BASE_URL: 'https://other.test' } })
    expect(stderr).toContain('GDN_BASE_URL is set to https://other.test and overrides')
    expect(stderr).toContain('gdn nft list --local\n')
  })

  test('config set profile names the variable or the file', async () => {
    const { dir, gdn } = await home()
    await gdn(['config', 'set', 'base_url', 'https://a.test', '--profile', 'test'])
    const set = async (env: NodeJS.ProcessEnv = {}) => (await gdn(['config', 'set', 'profile', 'test'], { env })).stderr
    expect(await set()).toBe('The profile in use is test.\n')
    expect(await set({ GDN_PROFILE: 'test', GDN_BASE_URL: 'https://a.test/' })).toBe('The profile in use is test.\n')
    const byVariable = await set({ GDN_PROFILE: 'local' })
    expect(byVariable).toContain('The saved profile is test.\n')
    expect(byVariable).toContain('GDN_PROFILE is set to local and overrides')
    const file = join(dir, '.gdnrc.json')
    await writeFile(file, '{ "base_url": "https://b.test" }')
    expect(await set()).toContain(`${file} sets base_url to https://b.test and overrides`)
    await writeFile(file, '{ "profile": "local" }')
    expect(await set()).toContain(`${file} sets profile to local and overrides`)
  })
})

test('--local selects the local backend, and names the command that starts it if it is not running', async () => {
  const { gdn, config } = await home()
  const { code, stderr } = await gdn(['init', '--local', '-b', 'polygon'])
  expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('gdn local start') })
  expect(await config()).toEqual({ profile: 'local', profiles: { local: { blockchain: 'polygon' } } })
  // Without a wallet, the suggested commands create one and can be pasted.
  expect(stderr).toMatch(
    /: gdn wallet generate --name alice\n.*: gdn collection create --name 'First light' --wallet @alice\n.*: gdn nft mint --title Dawn --receiver @alice\n.*: gdn nft list\n$/,
  )
})
