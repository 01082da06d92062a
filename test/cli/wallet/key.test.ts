/** @module-tag slow */
import { randomUUID } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { PERMISSIONS } from '../../../src/api/permissions.ts'
import { parseExpiry } from '../../../src/cli/commands/key/create.ts'
import { GdnError } from '../../../src/core/errors.ts'
import { databasePath } from '../../../src/server/data-dir/database-path.ts'
import { writeRunning } from '../../../src/server/data-dir/running.ts'
import { openStore } from '../../../src/server/store/open-store.ts'
import { withStore } from '../../helpers/backend.ts'
import { startHttpServer } from '../../helpers/http-server.ts'
import { filesHolding } from '../../helpers/leaks.ts'
import { cli, errorOf, tempHome } from '../harness.ts'

/** Creates a data directory with an empty database. */
async function createDatabase(dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true })
  await (await openStore(databasePath(dataDir))).close()
}

/** A home with the data directory of a backend. */
async function withDataDir() {
  const { dir, env } = await tempHome()
  const dataDir = join(dir, 'data')
  await createDatabase(dataDir)
  const gdn = (argv: string[], options: { tty?: boolean } = {}) =>
    cli([...argv, '--data-dir', dataDir], { ...options, env })
  const json = async <Value>(...argv: string[]): Promise<Value> => {
    const result = await gdn([...argv, '--json'])
    if (result.code !== 0) throw new Error(result.stderr)
    return JSON.parse(result.stdout)
  }
  return { dir, env, dataDir, gdn, json }
}

interface Key {
  id: string
  name: string
  email: string
  prefix: string
  permissions: string[]
  api_version: string | null
  status: string
  created_at: string
  expires_at: string | null
  revoked_at: string | null
  api_key?: string
}

describe('administration commands', () => {
  test('print the data directory that they use, unless it is the default', async () => {
    const { gdn, dataDir, dir, env } = await withDataDir()
    expect((await gdn(['key', 'list'])).stderr).toContain(`Data directory: ${dataDir}`)
    const byDefault = join(dir, 'home/gdn/local')
    await createDatabase(byDefault)
    const { code, stderr } = await cli(['key', 'list'], { env: { ...env, XDG_DATA_HOME: join(dir, 'home') } })
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining('Data directory') })
  })

  test.each([
    [['key', 'create', '--name', 'a', '--email', 'a@example.com', '--permission', 'all']],
    [['key', 'list']],
    [['webhook', 'list']],
    [['tx', 'list']],
    [['db', 'status']],
    [['chain', 'list']],
    [['local', 'listen']],
  ])('reject %j without --data-dir if the configuration names another server', async (argv) => {
    const { dir, env } = await tempHome()
    const home = join(dir, 'data home')
    const other = { ...env, GDN_BASE_URL: 'https://api.example.com', XDG_DATA_HOME: home }
    const dataDir = join(home, 'gdn/local')
    await createDatabase(dataDir)
    const { code, stdout, stderr } = await cli(argv, { env: other, columns: 500 })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('GDN_BASE_URL selects the server https://api.example.com')
    expect(stderr).toContain(`add --data-dir '${dataDir}'.`)
  })

  test('offer GDN_PROFILE=local if a profile names the other server', async () => {
    const { dir, env } = await tempHome()
    const dataDir = join(dir, '.local/share/gdn/local')
    await createDatabase(dataDir)
    await cli(['config', 'set', 'base_url', 'https://api.example.com'], { env })
    const { code, stderr } = await cli(['key', 'list'], { env, columns: 500 })
    expect(code).toBe(2)
    expect(stderr).toContain('To work on that backend anyway, set GDN_PROFILE=local, or add --data-dir ')
    expect((await cli(['key', 'list'], { env: { ...env, GDN_PROFILE: 'local' } })).code).toBe(0)
  })

  test('work if the configured server is the backend of the data directory', async () => {
    const { dir, env } = await tempHome()
    const dataDir = join(dir, '.local/share/gdn/local')
    await createDatabase(dataDir)
    await writeRunning(dataDir, 'http://127.0.0.1:4680')
    const at = (url: string) => cli(['key', 'list'], { env: { ...env, GDN_BASE_URL: url } })
    expect((await at('http://localhost:4680')).code).toBe(0)
    expect((await at('http://localhost:4681')).code).toBe(2)
  })

  test('are rejected if another backend responds at the configured server', async () => {
    const { dir, env } = await tempHome()
    const dataDir = join(dir, '.local/share/gdn/local')
    await createDatabase(dataDir)
    const own = randomUUID()
    await writeFile(join(dataDir, 'backend-id'), own)
    let backend_id = own
    const server = await startHttpServer(() => ({ json: { backend_id, incarnation: randomUUID() } }))
    onTestFinished(() => server.close())
    const list = () => cli(['key', 'list'], { env: { ...env, GDN_BASE_URL: server.url }, columns: 500 })
    expect((await list()).code).toBe(0)
    backend_id = randomUUID()
    expect(await list()).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`GDN_BASE_URL selects the server ${server.url}, but this command works on`),
    })
  })
})

const CREATE = ['key', 'create', '--name', 'shop', '--email', 'shop@example.com']

describe('gdn key create', () => {
  test('prints only the key on stdout and its permissions on stderr, and stores no copy', async () => {
    const { gdn, dataDir } = await withDataDir()
    const { code, stdout, stderr } = await gdn([...CREATE, '--permission', 'nft:read'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^gdn_[\w-]{43}\n$/) })
    const key = stdout.trim()
    expect(stderr).toContain('shop@example.com: nft:read')
    expect(stderr).toMatch(/not shown again\. To revoke the key, run `gdn key revoke [0-9a-f-]{36} --data-dir \S+`\./)
    expect(stderr).not.toContain(key)
    expect(await filesHolding(dataDir, key)).toEqual([])
    expect((await gdn(['key', 'list', '--json'])).stdout).not.toContain(key)
  })

  test('creates a key for a version of the API, which the list shows', async () => {
    const { gdn, json } = await withDataDir()
    const { stderr } = await gdn([...CREATE, '--permission', 'nft:read', '--api-version', '1.2'])
    expect(stderr).toContain('shop@example.com: nft:read, API 1.2.')
    expect(await json<Key[]>('key', 'list')).toMatchObject([{ name: 'shop', api_version: '1.2' }])
    expect(await gdn([...CREATE, '--permission', 'nft:read', '--api-version', '2'])).toMatchObject({ code: 2 })
  })

  test('names the help of the command without a data directory after invalid input', async () => {
    const { gdn } = await withDataDir()
    const { stderr } = await gdn(['key', 'create', '--name', 'shop', '--email', 'a@b.c', '--permission', 'all'])
    expect(stderr).toContain('Run `gdn key create --help` for usage.')
  })

  test('prints the record with the key once with --json', async () => {
    const { json } = await withDataDir()
    const key = await json<Key>(...CREATE, '--permission', 'nft:create,nft:read')
    expect(key).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: 'shop',
      email: 'shop@example.com',
      prefix: key.api_key?.slice(0, 12),
      permissions: ['nft:create', 'nft:read'],
      api_version: null,
      status: 'active',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      expires_at: null,
      revoked_at: null,
      api_key: expect.stringMatching(/^gdn_[\w-]{43}$/),
    })
  })

  test.each([
    [
      ['--permission', 'nft:create', '--permission', 'nft:read'],
      ['nft:create', 'nft:read'],
    ],
    [
      ['--permission', 'nft:read, nft:create'],
      ['nft:create', 'nft:read'],
    ],
    [['--permission', 'nft:read,nft:read'], ['nft:read']],
    [['--permission', 'all'], [...PERMISSIONS]],
    [['--permission', 'nft:read', '--permission', 'all'], [...PERMISSIONS]],
  ])('converts %j to %j', async (flags, permissions) => {
    const { json } = await withDataDir()
    expect((await json<Key>(...CREATE, ...flags)).permissions).toEqual(permissions)
  })

  test('assigns keys of one email address to one account', async () => {
    const { json, dataDir } = await withDataDir()
    await json(...CREATE, '--permission', 'all')
    const second = ['key', 'create', '--name', 'b', '--email', 'SHOP@example.com', '--permission', 'all']
    expect((await json<Key>(...second)).email).toBe('shop@example.com')
    const accounts = await withStore(dataDir, ({ db }) => db.selectFrom('accounts').selectAll().execute())
    expect(accounts).toHaveLength(1)
  })

  test.each([
    [['--permission', 'nft:raed'], '--permission', /must be one of .*, not "nft:raed"/, 'Did you mean nft:read?'],
    [['--permission', 'mint'], '--permission', /must be one of collection:create, .*, all, not "mint"/, null],
    [['--permission', 'NFT:READ'], '--permission', /must be one of/, 'Did you mean nft:read?'],
    [['--permission', ''], '--permission', /comma-separated list of names/, null],
    [['--permission', 'nft:read,'], '--permission', /comma-separated list of names/, null],
    [[], '--permission', /is required/, 'or --permission all. Permissions are collection:create, '],
    [['--permission', 'all', '--expires', '30'], '--expires', /such as 30d, 12h or 2027-01-31, not "30"/, null],
    [['--permission', 'all', '--expires', '2020-01-01'], '--expires', /is in the past/, null],
    [
      ['--permission', 'all', '--fields', 'id,name'],
      '--fields',
      /omits api_key, which is printed only once/,
      'id,api_key',
    ],
  ])('rejects %j and creates no key', async (flags, flag, message, hint) => {
    const { gdn, json } = await withDataDir()
    const result = await gdn([...CREATE, ...flags, '--json'])
    expect(result).toMatchObject({ code: 2, stdout: '' })
    const error = errorOf(result)
    expect(error.message).toMatch(message)
    expect(error).toMatchObject({ code: 'usage', details: { place: { flag } } })
    if (hint !== null) expect(error.hint).toContain(hint)
    expect(await json('key', 'list')).toEqual([])
  })

  test.each([
    [['--email', 'a@example.com'], '--name'],
    [['--name', '', '--email', 'a@example.com'], '--name'],
    [['--name', 'x'.repeat(101), '--email', 'a@example.com'], '--name'],
    [['--name', 'a'], '--email'],
    [['--name', 'a', '--email', 'nobody'], '--email'],
    [['--name', 'a', '--email', 'a@example.com\nb'], '--email'],
  ])('rejects %j and names %s', async (flags, flag) => {
    const { gdn } = await withDataDir()
    const result = await gdn(['key', 'create', ...flags, '--permission', 'all', '--json'])
    expect(result.code).toBe(2)
    expect(errorOf(result)).toMatchObject({ code: 'usage', details: { place: { flag } } })
  })

  test('stores a name with control characters unchanged, and escapes it in output', async () => {
    const { gdn, json } = await withDataDir()
    const name = 'a\u001b[2J\rb'
    const { stderr } = await gdn(['key', 'create', '--name', name, '--email', 'a@example.com', '--permission', 'all'])
    expect(stderr).not.toContain('\u001b')
    expect((await json<Key[]>('key', 'list'))[0]?.name).toBe(name)
    expect((await gdn(['key', 'list'], { tty: true })).stdout).not.toMatch(/\u001b\[2J|\r/)
  })
})

describe('gdn key list', () => {
  test('lists every key with its state, oldest first, and never in full', async () => {
    const { gdn, json, dataDir } = await withDataDir()
    const newKeys: Key[] = []
    for (const name of ['a', 'b', 'c']) {
      newKeys.push(
        await json<Key>('key', 'create', '--name', name, '--email', `${name}@example.com`, '--permission', 'all'),
      )
    }
    const [a, b] = newKeys
    await gdn(['key', 'revoke', a?.id ?? ''])
    await withStore(dataDir, ({ db }) =>
      db
        .updateTable('api_keys')
        .set({ expires_at: 1 })
        .where('id', '=', b?.id ?? '')
        .execute(),
    )
    const keys = await json<Key[]>('key', 'list')
    expect(keys.map(({ name, status }) => [name, status])).toEqual([
      ['a', 'revoked'],
      ['b', 'expired'],
      ['c', 'active'],
    ])
    expect(keys.map(Object.keys)).toEqual(
      keys.map(() => Object.keys(newKeys[0] ?? {}).filter((name) => name !== 'api_key')),
    )
    const { stdout } = await gdn(['key', 'list'])
    expect(stdout.split('\n')[2]).toMatch(/^gdn_[\w-]{8}\tc\tc@example.com\t.*wallet:create.*\tactive\t$/)
  })

  test('prints permissions separated by commas on a terminal, and as a list in a pipe', async () => {
    const { gdn } = await withDataDir()
    await gdn([...CREATE, '--permission', 'nft:read,nft:create'])
    const list = ['key', 'list', '--fields', 'name,permissions']
    expect((await gdn(list, { tty: true })).stdout).toMatch(/^shop +nft:\w+, nft:\w+$/m)
    expect((await gdn(list)).stdout).toContain('shop\t["nft:')
  })

  test('supports -o ids and --fields', async () => {
    const { gdn, json } = await withDataDir()
    const { id } = await json<Key>(...CREATE, '--permission', 'all')
    expect((await gdn(['key', 'list', '-o', 'ids'])).stdout).toBe(`${id}\n`)
    expect(await json('key', 'list', '--fields', 'name,status')).toEqual([{ name: 'shop', status: 'active' }])
    expect((await gdn(['key', 'list', '--fields', 'key'])).code).toBe(2)
  })
})

describe('gdn key revoke', () => {
  test.each(['id', 'prefix', 'api_key'] as const)('accepts the %s of a key', async (field) => {
    const { gdn, json, dataDir } = await withDataDir()
    const key = await json<Key>(...CREATE, '--permission', 'all')
    const other = await json<Key>(...CREATE, '--permission', 'all')
    const { code, stdout, stderr } = await gdn(['key', 'revoke', key[field] ?? ''])
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr).toBe(`Data directory: ${dataDir}\nRevoked the key shop (${key.prefix}) of shop@example.com.\n`)
    const keys = await json<Key[]>('key', 'list')
    expect(keys.map(({ id, status }) => [id, status])).toEqual([
      [key.id, 'revoked'],
      [other.id, 'active'],
    ])
  })

  test('keeps the first time if a key is revoked twice, and exits with 0', async () => {
    const { json } = await withDataDir()
    const { id } = await json<Key>(...CREATE, '--permission', 'all')
    const first = await json<Key>('key', 'revoke', id)
    expect(first).toMatchObject({ id, status: 'revoked', revoked_at: expect.any(String) })
    expect(await json('key', 'revoke', id)).toEqual(first)
  })

  test('exits with 2 for an unknown key without repeating it', async () => {
    const { gdn, json } = await withDataDir()
    const { api_key: key = '', id } = await json<Key>(...CREATE, '--permission', 'all')
    for (const word of [`${key}x`, key.slice(0, -1), id.slice(0, 8), 'gdn_', '%', '']) {
      const result = await gdn(['key', 'revoke', word, '--json'])
      expect(result.code).toBe(2)
      expect(errorOf(result)).toMatchObject({ code: 'not_found_locally', hint: expect.stringContaining('key list') })
      expect(result.stderr).not.toContain(key.slice(0, 20))
    }
    expect((await json<Key[]>('key', 'list'))[0]?.status).toBe('active')
  })

  test('revokes no key by a prefix that two keys share, and names both', async () => {
    const { gdn, json, dataDir } = await withDataDir()
    const [a, b] = [
      await json<Key>(...CREATE, '--permission', 'all'),
      await json<Key>(...CREATE, '--permission', 'all'),
    ]
    await withStore(dataDir, ({ db }) => db.updateTable('api_keys').set({ prefix: 'gdn_twice' }).execute())
    const result = await gdn(['key', 'revoke', 'gdn_twice', '--json'])
    expect(result.code).toBe(2)
    expect(errorOf(result).hint).toContain(`${a.id}, ${b.id}`)
    expect((await json<Key[]>('key', 'list')).map(({ status }) => status)).toEqual(['active', 'active'])
  })
})

describe('the data directory', () => {
  test.each([
    ['create', [...CREATE, '--permission', 'all']],
    ['list', ['key', 'list']],
    ['revoke', ['key', 'revoke', 'x']],
  ])('of key %s must contain a database, and none is created', async (_verb, argv) => {
    const { dir, env } = await tempHome()
    const empty = join(dir, 'nothing')
    const result = await cli([...argv, '--data-dir', empty, '--json'], { env })
    expect(result.code).toBe(2)
    expect(errorOf(result)).toMatchObject({ code: 'data_dir', hint: expect.stringContaining('--data-dir') })
    expect(await cli(['key', 'list'], { env })).toMatchObject({ code: 2, stderr: expect.stringContaining('gdn/local') })
  })

  test('is not migrated if it is from an older gdn', async () => {
    const { gdn, dataDir } = await withDataDir()
    await withStore(dataDir, ({ db }) => db.deleteFrom('kysely_migration' as never).execute())
    const result = await gdn(['key', 'list', '--json'])
    expect(result.code).toBe(2)
    expect(errorOf(result)).toMatchObject({
      code: 'data_dir',
      message: expect.stringContaining('older version of gdn'),
    })
  })

  test('defaults to that of gdn local start', async () => {
    const { dir, env } = await tempHome()
    const local = join(dir, '.local', 'share', 'gdn', 'local')
    await createDatabase(local)
    const { code, stdout } = await cli([...CREATE, '--permission', 'all'], { env })
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^gdn_/) })
  })
})

describe('--expires', () => {
  const now = Date.parse('2026-11-20T12:00:00Z')

  test.each([
    ['30d', '2026-12-20T12:00:00.000Z'],
    ['12h', '2026-11-21T00:00:00.000Z'],
    ['90m', '2026-11-20T13:30:00.000Z'],
    ['2027-01-31', '2027-02-01T00:00:00.000Z'],
    ['2026-11-20', '2026-11-21T00:00:00.000Z'],
    ['2027-01-31T12:00:00Z', '2027-01-31T12:00:00.000Z'],
    ['2028-02-29T23:59Z', '2028-02-29T23:59:00.000Z'],
  ])('converts %s to %s', (raw, at) => expect(new Date(parseExpiry(raw, '--expires', now)).toISOString()).toBe(at))

  test.each([
    ...['0d', '-1d', '1.5d', '1e3d', '30', 'd', '30D', '１d', '9999999d', 'tomorrow', '', ' 30d'],
    ...['2027-02-30', '2027-2-3', '2027-13-01', '31.01.2027', '2027-01-31T12:00', '2027-01-31T25:00Z', '0000-00-00'],
    ...['2026-11-19', '2026-11-20T12:00:00Z', '1970-01-01'],
  ])('rejects %j and names the flag', (raw) => {
    const attempt = () => parseExpiry(raw, '--expires', now)
    expect(attempt).toThrow(GdnError)
    expect(attempt).toThrow(expect.objectContaining({ code: 'usage', place: { flag: '--expires' } }))
  })
})
