import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { FastifyRequest } from 'fastify'
import { beforeAll, describe, expect, it } from 'vitest'
import { errorFormASchema, errorFormBSchema } from '../../../src/api/errors.ts'
import { PERMISSIONS, type Permission, SPENDING_PERMISSIONS } from '../../../src/api/permissions.ts'
import { isLocalRequest } from '../../../src/server/http/auth.ts'
import { withDatabase } from '../../../src/server/open-database.ts'
import { getApiKeys } from '../../../src/server/services/api-keys.ts'
import { insertAccount } from '../../../src/server/store/accounts.ts'
import {
  type Answer,
  backendForFile,
  freshDataDir,
  startTestBackend,
  type TestBackend,
  withStore,
} from '../../helpers/backend.ts'
import { makeKey, revokeKey, type TestKey } from '../../helpers/keys.ts'
import { filesHolding } from '../../helpers/leaks.ts'
import { appWithRoutes, routesOf } from '../../helpers/routes.ts'
import { isOnPostgres, placeOf } from '../../helpers/test-database.ts'

/**
 * Every endpoint with the permissions that it requires and the form of its errors. Written out, so that a change of a
 * contract is a change here.
 */
const REQUIRED = {
  createnft: { permissions: ['nft:create'], form: 'A' },
  transfernft: { permissions: ['nft:transfer'], form: 'A' },
  createnfttrans: { permissions: ['nft:create', 'nft:transfer'], form: 'A' },
  creatednft: { permissions: ['nft:create'], form: 'A' },
  updatednft: { permissions: ['nft:update'], form: 'A' },
  freezenft: { permissions: ['nft:update'], form: 'A' },
  burnnft: { permissions: ['nft:burn'], form: 'A' },
  commitprovenance: { permissions: ['nft:update'], form: 'A' },
  getprovenances: { permissions: ['nft:read'], form: 'A' },
  getnftgdnids: { permissions: ['nft:read'], form: 'A' },
  getnfts: { permissions: ['nft:read'], form: 'A' },
  getisgdnnft: { permissions: ['nft:read'], form: 'A' },
  createcollection: { permissions: ['collection:create'], form: 'A' },
  getpresignedurl: { permissions: ['wallet:create'], form: 'B' },
  getcollectionsettings: { permissions: ['nft:read'], form: 'A' },
  getcollections: { permissions: ['nft:read'], form: 'A' },
  gettransactions: { permissions: ['nft:read'], form: 'A' },
  getnfthistory: { permissions: ['nft:read'], form: 'A' },
  getnftowners: { permissions: ['nft:read'], form: 'A' },
  getsupply: { permissions: ['nft:read'], form: 'A' },
  getreferences: { permissions: ['nft:read'], form: 'A' },
  getcontentreferences: { permissions: ['nft:read'], form: 'A' },
  relabelreferences: { permissions: ['nft:create'], form: 'A' },
  aliasreferences: { permissions: ['nft:create'], form: 'A' },
  getfees: { permissions: ['nft:read'], form: 'A' },
  getruncosts: { permissions: ['nft:read'], form: 'A' },
  setrunmaxfee: { permissions: ['nft:create'], form: 'A' },
  files: { permissions: ['nft:create'], form: 'A' },
} as const satisfies Record<string, { permissions: readonly Permission[]; form: 'A' | 'B' }>

const ROUTES = Object.entries(REQUIRED).flatMap(
  ([name, required]) =>
    [
      [`/api/v1/${name}`, required],
      [`/api/v1/${name}/`, required],
    ] as const,
)

/** None, each one, what an endpoint requires, all but one, and all. */
const SUBSETS = Array.from({ length: 2 ** PERMISSIONS.length }, (_, bits) =>
  PERMISSIONS.filter((_permission, at) => (bits >> at) & 1),
).filter(
  (subset) =>
    subset.length < 2 ||
    subset.length > PERMISSIONS.length - 2 ||
    Object.values(REQUIRED).some(({ permissions }) => permissions.join() === subset.join()),
)

let backend: TestBackend
let revoked: TestKey
let expired: TestKey
const byPermissions = new Map<string, TestKey>()

beforeAll(async () => {
  backend = await backendForFile()
  revoked = await makeKey(backend.dataDir)
  await revokeKey(backend.dataDir, revoked)
  expired = await makeKey(backend.dataDir, { expiresAt: Date.now() - 1 })
  for (const permissions of SUBSETS)
    byPermissions.set(permissions.join(), await makeKey(backend.dataDir, { permissions }))
})

const keyWith = (permissions: readonly Permission[]) => {
  const key = byPermissions.get(permissions.join())
  if (key === undefined) throw new Error(`no key with ${permissions.join()}`)
  return key.headers
}

function expectRefusal({ status, json }: Answer, form: 'A' | 'B', expected: 401 | 403, message: RegExp | string) {
  const says = typeof message === 'string' ? message : expect.stringMatching(message)
  if (form === 'A') {
    const title = expected === 401 ? 'Unauthorized' : 'Forbidden'
    expect({ status, json }).toEqual({ status: expected, json: { error: { title, message: says } } })
    expect(errorFormASchema.safeParse(json).success).toBe(true)
  } else {
    const errorCode = expected === 401 ? 'UNAUTHORIZED' : 'FORBIDDEN'
    expect({ status, json }).toEqual({ status: expected, json: { errorCode, message: says, detail: [] } })
    expect(errorFormBSchema.safeParse(json).success).toBe(true)
  }
}

it('a route without declared access cannot be registered', async () => {
  const app = await appWithRoutes()
  expect(() => app.get('/open', async () => 'secret')).toThrow('the route /open declares no access')
  await app.close()
})

it('every route of the API is in the table of endpoints and permissions', async () => {
  const registered = (await routesOf('POST')).filter((path) => path.startsWith('/api/'))
  expect(registered).toEqual([...Object.keys(REQUIRED), 'setrunmaxcost'].map((name) => `/api/v1/${name}`).sort())
})

describe.each(ROUTES)('%s', (route, { permissions, form }) => {
  // No endpoint accepts a list.
  const post = (headers: Record<string, string>) => backend.post(route, [], headers)

  it('returns 401 without a key', async () => {
    expectRefusal(await post({ 'x-api-key': '' }), form, 401, 'the header x-api-key is missing')
  })

  it('returns 401 with an empty key', async () => {
    const response = await fetch(backend.url + route, { method: 'POST', headers: { 'x-api-key': '' } })
    const answer = { status: response.status, headers: response.headers, json: await response.json() }
    expectRefusal(answer, form, 401, 'the header x-api-key is missing')
  })

  it('returns the same 401 with a wrong, a revoked or an expired key', async () => {
    const { key } = await makeKey(backend.dataDir)
    const wrong = [
      'x',
      `gdn_${'A'.repeat(43)}`,
      `${key}x`,
      key.slice(0, -1),
      key.toUpperCase(),
      `Bearer ${key}`,
      revoked.key,
      expired.key,
      revoked.id,
      revoked.prefix,
    ]
    for (const header of wrong) {
      const answer = await post({ 'x-api-key': header })
      expectRefusal(answer, form, 401, 'the API key in x-api-key is not valid')
    }
  })

  it(`returns 403 that names the missing permission for a key without ${permissions.join(' and ')}`, async () => {
    const lacking = SUBSETS.filter((subset) => !permissions.every((needed) => subset.includes(needed)))
    for (const subset of lacking) {
      const missing = permissions.filter((needed) => !subset.includes(needed)).join(', ')
      expectRefusal(await post(keyWith(subset)), form, 403, `the API key lacks the permission ${missing}`)
    }
  })

  it(`accepts a key with ${permissions.join(' and ')} and any others`, async () => {
    const enough = SUBSETS.filter((subset) => permissions.every((needed) => subset.includes(needed)))
    for (const subset of enough) {
      const { status } = await post(keyWith(subset))
      expect([status, status >= 400 && status < 500 && status !== 401 && status !== 403]).toEqual([status, true])
    }
  })

  it('checks the key before the body', async () => {
    const answer = await backend.post(route, '{', { 'x-api-key': 'wrong' })
    expectRefusal(answer, form, 401, 'the API key in x-api-key is not valid')
  })
})

describe('setrunmaxcost', () => {
  const path = '/api/v1/setrunmaxcost'
  const spending: readonly Permission[] = SPENDING_PERMISSIONS

  it.each(SPENDING_PERMISSIONS)('accepts a key with %s alone, which may spend for a run', async (permission) => {
    expect((await backend.post(path, {}, keyWith([permission]))).status).toBe(400)
  })

  it('returns 403 for a key that may not spend', async () => {
    const needed = SPENDING_PERMISSIONS.join(', ')
    for (const subset of SUBSETS.filter((one) => !one.some((permission) => spending.includes(permission)))) {
      const refused = await backend.post(path, {}, keyWith(subset))
      expectRefusal(refused, 'A', 403, `the API key needs one of the permissions ${needed}`)
    }
  })
})

describe('a key', () => {
  const use = ({ headers }: TestKey) => backend.post('/api/v1/getnfts', { nft_gdn_ids: ['x'] }, headers)

  it('works at once after its creation and fails at once after its revocation', async () => {
    const key = await makeKey(backend.dataDir)
    expect((await use(key)).status).toBe(200)
    await revokeKey(backend.dataDir, key)
    expect((await use(key)).status).toBe(401)
  })

  it('is rejected from the millisecond of its expiry on', async () => {
    const other = await freshDataDir()
    let now = Date.now()
    const clocked = await startTestBackend(other.path, { now: () => now })
    const key = await makeKey(other.path, { expiresAt: now + 1000 })
    const status = async () => (await clocked.post('/api/v1/getnfts', { nft_gdn_ids: ['x'] }, key.headers)).status
    now += 999
    expect(await status()).toBe(200)
    now += 1
    expect(await status()).toBe(401)
    await clocked.close()
    await other.remove()
  })

  it('is rejected if given twice', async () => {
    const key = await makeKey(backend.dataDir)
    const headers = new Headers([
      ['x-api-key', key.key],
      ['x-api-key', key.key],
      ['content-type', 'application/json'],
    ])
    const response = await fetch(`${backend.url}/api/v1/getnfts`, { method: 'POST', headers, body: '{}' })
    expect(response.status).toBe(401)
  })

  it('never writes a key to the data directory', async () => {
    const key = await makeKey(backend.dataDir)
    await use(key)
    expect(await filesHolding(backend.dataDir, key.key)).toEqual([])
    // Its prefix is in the database, which on SQLite is a file of the data dir.
    expect((await filesHolding(backend.dataDir, key.prefix)).length > 0).toBe(!isOnPostgres())
  })

  it('a key of the local account is replaced at the next start after it was revoked', async () => {
    const other = await freshDataDir()
    const first = await startTestBackend(other.path)
    const keys = await withDatabase(await placeOf(other.path), (store) => getApiKeys(store, Date.now()))
    expect(keys.map(({ email, permissions }) => ({ email, permissions }))).toEqual([
      { email: null, permissions: [...PERMISSIONS] },
    ])
    await revokeKey(other.path, { id: keys[0]?.id ?? '' })
    expect((await first.post('/api/v1/getnfts', { nft_gdn_ids: ['x'] })).status).toBe(401)
    await first.close()
    const second = await startTestBackend(other.path)
    expect(second.apiKey.reveal()).not.toBe(first.apiKey.reveal())
    expect((await second.post('/api/v1/getnfts', { nft_gdn_ids: ['x'] })).status).toBe(200)
    await second.close()
    const third = await startTestBackend(other.path)
    expect(third.apiKey.reveal()).toBe(second.apiKey.reveal())
    await third.close()
    await other.remove()
  })

  it('a key of the data dir belongs to the local account, even if another account has an earlier date', async () => {
    const other = await freshDataDir()
    await (await startTestBackend(other.path)).close()
    await withStore(other.path, ({ db }) =>
      insertAccount(db, { id: 'older', email: 'older@example.com', created_at: 0 }),
    )
    await rm(join(other.path, 'api-key'))
    const again = await startTestBackend(other.path)
    const { status } = await again.post('/api/v1/getpresignedurl', { email: 'anyone@example.com' })
    expect(status).toBe(200)
    await again.close()
    await other.remove()
  })
})

it.each<[string, { ip: string; peer: string; client?: string }, boolean]>([
  ['a request of this machine', { ip: '127.0.0.1', peer: '127.0.0.1' }, true],
  ['a request of another machine', { ip: '10.0.0.2', peer: '10.0.0.2' }, false],
  [
    'a client on this machine, behind a trusted proxy',
    { ip: '127.0.0.1', peer: '10.0.0.9', client: '127.0.0.1' },
    true,
  ],
  ['a client elsewhere, behind a trusted proxy', { ip: '10.0.0.2', peer: '10.0.0.9', client: '10.0.0.2' }, false],
  ['a trusted proxy that names no client', { ip: '127.0.0.1', peer: '10.0.0.9' }, false],
  ['an address that a client claims', { ip: '10.0.0.2', peer: '10.0.0.2', client: '127.0.0.1' }, false],
])('the key of the local account is for this machine: %s', (_what, { ip, peer, client }, expected) => {
  const headers = client === undefined ? {} : { 'x-forwarded-for': client }
  const request = { ip, headers, raw: { socket: { remoteAddress: peer } } } as unknown as FastifyRequest
  expect(isLocalRequest(request, (address) => address === '10.0.0.9')).toBe(expected)
})
