/** @module-tag slow */
import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { filesHolding, textHolds } from '../helpers/leaks.ts'
import { lockedKeyring, memoryKeyring } from '../helpers/memory-keyring.ts'
import { type FakeApi, fakeApi } from './fake-api.ts'
import { type CliOptions, type CliResult, cli, errorOf, tempHome } from './harness.ts'

const KEY = 'gdn_0123456789abcdefghijklmnopqrstuvwxyz'
const refusal = (status: number, title: string) => ({ status, body: { error: { title, message: 'no' } } })
const isgdnnft = (requests: object) => ({
  body: { requests: { nft_gdn_id: 'x', ...requests }, response: { isgdnnft: false } },
})

/** A server that accepts one key. */
async function server(key = KEY): Promise<FakeApi> {
  return await fakeApi({
    getisgdnnft: (body, { headers }) => (headers['x-api-key'] === key ? isgdnnft(body) : refusal(401, 'Unauthorized')),
  })
}

async function home() {
  const { dir, env } = await tempHome()
  const said: string[] = []
  const gdn = async (argv: string[], options: CliOptions = {}): Promise<CliResult> => {
    const result = await cli(argv, { ...options, env: { ...env, ...options.env } })
    said.push(result.stdout, result.stderr)
    return result
  }
  const credentials = join(dir, '.config', 'gdn', 'credentials.json')
  return { dir, env, gdn, said, credentials }
}

describe('gdn auth login', () => {
  test('checks a piped key, saves it in a 0600 file if there is no keyring, and never prints it', async () => {
    const { gdn, said, credentials } = await home()
    const { url, calls } = await server()
    const { code, stderr } = await gdn(['auth', 'login', '--base-url', url], { stdin: `${KEY}\r\n` })
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining(credentials) })
    expect(calls.map(({ path, headers }) => [path, headers['x-api-key']])).toEqual([['/api/v1/getisgdnnft', KEY]])
    expect(JSON.parse(await readFile(credentials, 'utf8'))).toEqual({ [url]: KEY })
    expect((await stat(credentials)).mode & 0o777).toBe(0o600)
    expect(said.filter((text) => textHolds(text, KEY))).toEqual([])
  })

  test('stores the key in the keyring if one works, and in no file', async () => {
    const { gdn, dir, said } = await home()
    const { url } = await server()
    const keyring = memoryKeyring()
    const result = await gdn(['auth', 'login', '--base-url', url, '--json', '--debug'], { stdin: KEY, keyring })
    expect(JSON.parse(result.stdout)).toEqual({ server: url, kept_in: 'keyring', key: 'gdn_0123…', works: true })
    expect(keyring.entries).toEqual(new Map([[url, KEY]]))
    expect(await filesHolding(dir, KEY)).toEqual([])
    expect(said.filter((text) => textHolds(text, KEY))).toEqual([])
  })

  test('skips the keyring with --store file, and requires it with --store keyring', async () => {
    const { gdn, credentials } = await home()
    const keyring = memoryKeyring()
    const login = ['auth', 'login', '--base-url', 'https://a.test', '--no-check', '--store']
    expect((await gdn([...login, 'file'], { stdin: KEY, keyring })).code).toBe(0)
    expect(keyring.calls).toEqual([])
    expect(JSON.parse(await readFile(credentials, 'utf8'))).toEqual({ 'https://a.test': KEY })
    const insisted = await gdn([...login, 'keyring'], { stdin: KEY, keyring: lockedKeyring() })
    expect(insisted.code).not.toBe(0)
    expect(insisted.stderr).toContain('the keyring is locked')
  })

  test('removes an earlier key from the keyring when it saves the next one in a file, or says that it remains', async () => {
    const { gdn, credentials } = await home()
    const keyring = memoryKeyring()
    const login = ['auth', 'login', '--base-url', 'https://a.test', '--no-check', '--store']
    await gdn([...login, 'keyring'], { stdin: 'an-earlier-key', keyring })
    const { code, stderr } = await gdn([...login, 'file'], { stdin: KEY, keyring })
    expect([code, keyring.entries.size]).toEqual([0, 0])
    expect(stderr).not.toContain('remains')
    expect(JSON.parse(await readFile(credentials, 'utf8'))).toEqual({ 'https://a.test': KEY })

    await gdn([...login, 'keyring'], { stdin: 'an-earlier-key', keyring })
    const locked = await gdn([...login, 'file'], { stdin: KEY, keyring: lockedKeyring() })
    expect(locked.code).toBe(0)
    expect(locked.stderr).toContain('An earlier key for https://a.test remains in the system keyring')
  })

  test('falls back to the file if the keyring is locked', async () => {
    const { gdn, credentials } = await home()
    const login = ['auth', 'login', '--base-url', 'https://a.test', '--no-check']
    expect((await gdn(login, { stdin: KEY, keyring: lockedKeyring() })).code).toBe(0)
    expect(JSON.parse(await readFile(credentials, 'utf8'))).toEqual({ 'https://a.test': KEY })
  })

  test.each([
    ['that the server rejects', 401, 4, 'Copy the whole key again'],
    ['that has no permission', 403, 4, 'Copy the whole key again'],
    ['when the server returns an error', 500, 6, '--no-check'],
  ])('does not save a key %s', async (_what, status, code, hint) => {
    const { gdn, dir } = await home()
    const api = await fakeApi({
      getisgdnnft: () => refusal(status, 'no'),
      ...(status === 403
        ? Object.fromEntries(
            ['createnft', 'transfernft', 'createcollection', 'getpresignedurl'].map((name) => [
              name,
              () => refusal(403, 'Forbidden'),
            ]),
          )
        : {}),
    })
    const result = await gdn(['auth', 'login', '--base-url', api.url, '--json'], { stdin: KEY })
    expect(result.code).toBe(code)
    expect(errorOf(result).hint).toContain(hint)
    expect(await filesHolding(dir, KEY)).toEqual([])
  })

  test('saves a key that has some permission but not read', async () => {
    const { gdn } = await home()
    const { url, bodies } = await fakeApi({
      getisgdnnft: () => refusal(403, 'Forbidden'),
      createnft: () => refusal(400, 'Request Validation Error'),
      transfernft: () => refusal(403, 'Forbidden'),
      createcollection: () => refusal(403, 'Forbidden'),
      getpresignedurl: () => refusal(403, 'Forbidden'),
    })
    expect((await gdn(['auth', 'login', '--base-url', url], { stdin: KEY })).code).toBe(0)
    // The check sent nothing that could take effect.
    expect(bodies('createnft')).toEqual([{}])
  })

  test.each([
    ['two lines', `${KEY}\nmore`, 'this is not an API key'],
    ['nothing', '', 'is empty'],
    ['an escape sequence', '\u001b[2J', 'this is not an API key'],
    ['a key with a space', 'a b', 'this is not an API key'],
  ])('rejects %s as a key without repeating it', async (_what, stdin, message) => {
    const { gdn } = await home()
    const { code, stderr } = await gdn(['auth', 'login', '--base-url', 'https://a.test'], { stdin })
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
    expect(textHolds(stderr, KEY)).toBe(false)
  })

  test('rejects a key file that others can read', async () => {
    const { gdn, dir } = await home()
    const file = join(dir, 'key')
    await writeFile(file, `${KEY}\n`)
    await chmod(file, 0o644)
    const login = ['auth', 'login', '--base-url', 'https://a.test', '--no-check', '--key-file', file]
    const loose = await gdn(login)
    expect(loose).toMatchObject({ code: 4, stderr: expect.stringContaining(`chmod 600 ${file}`) })
    await chmod(file, 0o600)
    expect((await gdn(login)).code).toBe(0)
  })

  test('rejects a key given as an argument', async () => {
    const { gdn, dir } = await home()
    const { code, stderr } = await gdn(['auth', 'login', KEY, '--base-url', 'https://a.test'])
    expect(code).toBe(2)
    expect(textHolds(stderr, KEY)).toBe(false)
    expect(await filesHolding(dir, KEY)).toEqual([])
  })

  test('never saves a key for a plain HTTP server, nor for one that only a project file names', async () => {
    const { gdn, dir } = await home()
    const clear = await gdn(['auth', 'login', '--base-url', 'http://a.test', '--no-check'], { stdin: KEY })
    expect(clear).toMatchObject({ code: 2, stderr: expect.stringContaining('clear text') })
    const project = join(dir, 'cloned')
    await mkdir(join(project, '.git'), { recursive: true })
    await writeFile(join(project, '.gdnrc.json'), '{"base_url": "https://theirs.test"}')
    for (const argv of [
      ['auth', 'login', '--no-check'],
      ['config', 'set', 'api_key', '-'],
    ]) {
      const { code, stderr } = await gdn(argv, { stdin: KEY, cwd: project })
      expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('--base-url https://theirs') })
    }
    expect(await filesHolding(dir, KEY)).toEqual([])
  })

  test('needs no key for the local backend, and names the flag if no server is selected', async () => {
    const { gdn } = await home()
    expect((await gdn(['auth', 'login', '--local'], { stdin: KEY })).stderr).toContain('has its own key')
    expect((await gdn(['auth', 'login'], { stdin: KEY })).stderr).toContain('--base-url')
  })
})

describe('gdn auth status', () => {
  test('lists every key by its prefix with its storage location, and never in full', async () => {
    const { gdn, said, env, credentials } = await home()
    const keyring = memoryKeyring()
    const login = (url: string, options: CliOptions) =>
      gdn(['auth', 'login', '--no-check', '--base-url', url], { stdin: KEY, ...options })
    await login('https://a.test', {})
    await login('https://b.test', { keyring })
    await gdn(['config', 'set', 'base_url', 'https://b.test/api'])
    const { stdout } = await gdn(['auth', 'status', '--json'], { keyring })
    const [inFile, inKeyring] = JSON.parse(stdout)
    expect(inFile).toEqual({
      server: 'https://a.test',
      in_use: false,
      profiles: '',
      kept_in: 'file',
      place: credentials,
      key: 'gdn_0123…',
      works: null,
      problem: null,
    })
    expect(inKeyring).toMatchObject({ server: 'https://b.test', in_use: true, profiles: 'default', kept_in: 'keyring' })

    const variable = await gdn(['auth', 'status', '--json'], { keyring, env: { ...env, GDN_API_KEY: KEY } })
    expect(JSON.parse(variable.stdout)[0]).toMatchObject({ kept_in: 'environment', place: 'GDN_API_KEY', in_use: true })
    for (const mode of ['table', 'ndjson', 'csv', 'ids']) await gdn(['auth', 'status', '-o', mode], { keyring })
    expect(said.filter((text) => textHolds(text, KEY))).toEqual([])
  })

  test('checks each key only at its own server with --check', async () => {
    const { gdn } = await home()
    const [good, bad] = [await server(), await server('another')]
    for (const { url } of [good, bad]) {
      await gdn(['auth', 'login', '--no-check', '--base-url', url], { stdin: `${KEY}${new URL(url).port}` })
    }
    const good2 = `${KEY}${new URL(good.url).port}`
    const { code, stdout } = await gdn(['auth', 'status', '--check', '--json'])
    expect(code).toBe(4)
    expect(JSON.parse(stdout).map(({ works }: { works: boolean }) => works)).toEqual([false, false])
    expect(good.calls.map(({ headers }) => headers['x-api-key'])).toEqual([good2])
    expect(bad.calls.map(({ headers }) => headers['x-api-key'])).toEqual([`${KEY}${new URL(bad.url).port}`])
  })

  test('reports a key as working, and leaves it undetermined if the server is unreachable', async () => {
    const { gdn } = await home()
    const { url } = await server()
    await gdn(['auth', 'login', '--base-url', url], { stdin: KEY })
    expect(JSON.parse((await gdn(['auth', 'status', '--check', '--json'])).stdout)).toMatchObject([{ works: true }])
    await gdn(['auth', 'logout', '--all'])
    await gdn(['auth', 'login', '--no-check', '--base-url', 'http://127.0.0.1:9'], { stdin: KEY })
    const away = await gdn(['auth', 'status', '--check', '--json'])
    expect(away.code).toBe(6)
    expect(JSON.parse(away.stdout)).toMatchObject([{ works: null, problem: expect.stringContaining('127.0.0.1:9') }])
  })

  test('exits with 0 if no key is saved', async () => {
    const { gdn } = await home()
    const { code, stdout, stderr } = await gdn(['auth', 'status', '--json'])
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '[]\n', stderr: '' })
  })

  test('lists the key of the local backend', async () => {
    const { gdn, dir } = await home()
    const file = join(dir, '.local', 'share', 'gdn', 'local', 'api-key')
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, KEY, { mode: 0o600 })
    const { stdout } = await gdn(['auth', 'status', '--json', '--local'])
    expect(JSON.parse(stdout)).toMatchObject([{ server: 'local', in_use: true, place: file, key: 'gdn_0123…' }])
  })

  test('never shows enough of a short key to reveal it', async () => {
    const { gdn } = await home()
    await gdn(['auth', 'login', '--no-check', '--base-url', 'https://a.test'], { stdin: 'abc' })
    expect(JSON.parse((await gdn(['auth', 'status', '--json'])).stdout)).toMatchObject([{ key: '…' }])
  })
})

describe('gdn auth logout', () => {
  test('deletes the key of one server from file and keyring, and exits with 0 if there is none', async () => {
    const { gdn, credentials } = await home()
    const keyring = memoryKeyring()
    for (const name of ['a', 'b'])
      await gdn(['auth', 'login', '--no-check', '--base-url', `https://${name}.test`], { stdin: KEY, keyring })
    const { stdout } = await gdn(['auth', 'logout', '--base-url', 'https://a.test/x', '--json'], { keyring })
    expect(JSON.parse(stdout)).toEqual([{ server: 'https://a.test', kept_in: 'keyring' }])
    expect([...keyring.entries.keys()]).toEqual(['https://b.test'])
    expect((await gdn(['auth', 'logout', '--all'], { keyring })).code).toBe(0)
    expect(keyring.entries.size).toBe(0)
    expect(JSON.parse(await readFile(credentials, 'utf8'))).toEqual({})
    const secondResult = await gdn(['auth', 'logout', '--base-url', 'https://a.test'], { keyring })
    expect(secondResult).toMatchObject({ code: 0, stderr: expect.stringContaining('There is no saved key') })
  })
})
