/** @module-tag slow */
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  backendForFile,
  backendForTest,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  type TestBackend,
  type TestCollection,
  until,
} from '../../helpers/backend.ts'
import { backUp, restore } from '../../helpers/backups.ts'
import { type Seen, show } from '../../helpers/explorer.ts'
import { makeKey, revokeKey, type TestKey } from '../../helpers/keys.ts'
import { routesOf } from '../../helpers/routes.ts'
import { report } from '../../helpers/seed.ts'
import { NO_NETWORK, OUTER_ADDRESS } from '../../helpers/this-machine.ts'
import { withinASecond } from '../../helpers/within-a-second.ts'

if (OUTER_ADDRESS === undefined) report(NO_NETWORK)

// The assets of the page are public.
const routes = (await routesOf('GET')).filter(
  (path) => path.startsWith('/explorer/') && !path.startsWith('/explorer/assets/'),
)

let backend: TestBackend
let mine: Things
let theirs: Things
let shift = 0
const now = () => Date.now() + shift
afterEach(() => {
  shift = 0
})

interface Things {
  key: TestKey
  collection: TestCollection
  nft: string
  run: string
  title: string
}

async function things(email: string, run: string, title: string): Promise<Things> {
  const key = await makeKey(backend.dataDir, { email })
  const own = {
    ...backend,
    post: (path: string, body: unknown, headers = {}) => backend.post(path, body, { ...key.headers, ...headers }),
  }
  const collection = await createTestCollection(own, { name: `Drop of ${title}` })
  const [nft = ''] = await mint(own, collection, plainMetadata(1, title), { headers: { 'gdn-run': run } })
  await settled(own, [nft])
  return { key, collection, nft, run, title }
}

beforeAll(async () => {
  backend = await backendForFile({ host: '0.0.0.0', now })
  mine = await things('me@example.com', 'run-of-mine', 'Zebra')
  theirs = await things('them@example.com', 'run-of-theirs', 'Quagga')
})

/** Requests that reach the backend as if from another machine. */
const outside = () => ({ get: (path: string, headers = {}) => fetch(elsewhere() + path, { headers }) })
const elsewhere = () => `http://${OUTER_ADDRESS}:${new URL(backend.url).port}`

async function sendOnce(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Seen> {
  const response = await fetch(`${elsewhere()}/explorer/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: response.status, headers: response.headers, json: await response.json() }
}

/** Logins per second are limited, so a rejected login is retried. */
const send = (...request: Parameters<typeof sendOnce>) =>
  until(
    () => sendOnce(...request),
    ({ status }) => status !== 429,
  )

const cookieOf = ({ headers }: Seen) =>
  /^gdn_session_[0-9a-f]{8}=[^;]*/.exec(headers.get('set-cookie') ?? '')?.[0] ?? ''

/** The cookie's name contains the backend's ID, so that two backends on one host have separate cookies. */
const cookieName = async () => {
  const { headers } = await fetch(`${elsewhere()}/healthz`)
  return `gdn_session_${headers.get('gdn-backend-id')?.slice(0, 8)}`
}

async function login(key: string): Promise<string> {
  const answer = await send('login', { api_key: key })
  if (answer.status !== 200) throw new Error(`the login answered ${answer.status}: ${JSON.stringify(answer.json)}`)
  return cookieOf(answer)
}

/** The cookie of a login at a separate backend. */
async function cookieFrom(one: TestBackend, key: string): Promise<string> {
  return cookieOf(await one.post('/explorer/login', { api_key: key }))
}

const overviewOf = async (one: TestBackend, cookie: string) => (await one.get('/explorer/overview', { cookie })).status

async function statusWith(cookie: string, path = 'overview'): Promise<number> {
  const { status, body } = await outside().get(`/explorer/${path}`, { cookie })
  await body?.cancel()
  return status
}

/** A route with its parameters replaced by the names of resources. */
const pathTo = (route: string, { collection, nft, run }: Things) =>
  route
    .replace('/explorer/', '')
    .replace('collections/:id', `collections/${collection.id}`)
    .replace('nfts/:id', `nfts/${nft}`)
    .replace(':run', run)
    .replace(':address', '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB')

it('the explorer has these routes', () => {
  expect(routes).toEqual([
    '/explorer/collections',
    '/explorer/collections/:id',
    '/explorer/collections/:id/nfts',
    '/explorer/events',
    '/explorer/nfts/:id',
    '/explorer/overview',
    '/explorer/owners/:address/nfts',
    '/explorer/runs',
    '/explorer/runs/:run',
    '/explorer/runs/:run/nfts',
    '/explorer/search',
    '/explorer/session',
  ])
})

const closed = routes.filter((route) => route !== '/explorer/session')
// The stream of events has no end, so its body can't be compared.
const finite = closed.filter((route) => !route.endsWith('/events'))

describe.skipIf(OUTER_ADDRESS === undefined)('from another machine', () => {
  it.each(closed)('%s returns 401 without a session', async (route) => {
    const name = await cookieName()
    for (const cookie of ['', `${name}=`, `${name}=${mine.key.id}.99999999999999.${'A'.repeat(43)}`]) {
      expect(await statusWith(cookie, pathTo(route, mine))).toBe(401)
    }
    // A key opens a session, but gives no access without one.
    const { status } = await outside().get(`/explorer/${pathTo(route, mine)}`, mine.key.headers)
    expect(status).toBe(401)
  })

  it('the session has the account after the login and null before it', async () => {
    expect(await show(outside(), 'session')).toEqual({ version: '0.0.0-test', open: false, account: null })
    const cookie = await login(mine.key.key)
    expect(await show(outside(), 'session', { cookie })).toMatchObject({
      open: false,
      account: { email: 'me@example.com' },
    })
  })

  it.each(finite)('%s shows an account nothing of other accounts', async (route) => {
    const cookie = await login(mine.key.key)
    const asked = async (things: Things) =>
      await (await outside().get(`/explorer/${pathTo(route, things)}?q=quagga`, { cookie })).text()
    const answer = await asked(theirs)
    for (const secret of [theirs.title, theirs.nft, theirs.collection.address, theirs.collection.id]) {
      // A response may repeat the requested name if it doesn't exist.
      if (!pathTo(route, theirs).includes(secret)) expect(answer).not.toContain(secret)
    }
    expect(backend.log.filter((line) => line.includes('unexpectedly'))).toEqual([])
    if (/:(id|run)/.test(route)) {
      expect(await statusWith(cookie, pathTo(route, theirs))).toBe(404)
      expect(await statusWith(cookie, pathTo(route, mine))).toBe(200)
    }
  })

  it.each(['nft', 'collection', 'run', 'address', 'title'])(
    'a search by the %s of another account finds nothing',
    async (what) => {
      const cookie = await login(mine.key.key)
      const q = (of: Things) =>
        ({ nft: of.nft, collection: of.collection.id, run: of.run, address: of.collection.address, title: of.title })[
          what
        ] ?? ''
      expect(await show(outside(), `search?q=${q(theirs)}`, { cookie })).toEqual({ exact: null, hits: [] })
      expect((await show(outside(), `search?q=${q(mine)}`, { cookie })).hits.length).toBeGreaterThan(0)
    },
  )

  it('the cookie is sent to this server only and hidden from scripts', async () => {
    const answer = await send('login', { api_key: mine.key.key })
    expect(answer.headers.get('set-cookie')).toMatch(
      /^gdn_session_[0-9a-f]{8}=[\w.-]+; HttpOnly; SameSite=Strict; Path=\/; Max-Age=43200$/,
    )
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })

  it('rejects a wrong key and a key without nft:read', async () => {
    const mintOnly = await makeKey(backend.dataDir, { permissions: ['nft:create'] })
    const expired = await makeKey(backend.dataDir, { expiresAt: now() - 1 })
    expect((await send('login', { api_key: 'gdn_nothing' })).status).toBe(401)
    expect((await send('login', { api_key: expired.key })).status).toBe(401)
    const refused = await send('login', { api_key: mintOnly.key })
    expect([refused.status, refused.json.error.message]).toEqual([403, 'this API key lacks the permission nft:read'])
    expect(refused.headers.get('set-cookie')).toBe(null)
  })

  it('rejects the key of the local account', async () => {
    const { status, json } = await send('login', { api_key: backend.apiKey.reveal() })
    expect([status, json.error.message]).toEqual([403, expect.stringMatching(/only from the server's own machine/)])
    const here = await fetch(`http://127.0.0.1:${new URL(backend.url).port}/explorer/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ api_key: backend.apiKey.reveal() }),
    })
    expect(here.status).toBe(200)
    const cookie = cookieOf({ status: 200, headers: here.headers, json: null })
    expect(await statusWith(cookie)).toBe(401)
  })

  it.each([
    ['a form', 'api_key=x', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['text', '{"api_key":"x"}', { 'content-type': 'text/plain' }, 415],
    ['without a key', {}, {}, 400],
    ['null', 'null', {}, 400],
    ['a list', { api_key: ['x'] }, {}, 400],
    ['from a page of another origin', { api_key: 'x' }, { origin: 'https://evil.example' }, 403],
  ] as const)('rejects a login: %s', async (_, body, headers, status) => {
    expect((await send('login', body, headers)).status).toBe(status)
  })

  it('returns 403 to a page of another origin, which cannot log a user out', async () => {
    const cookie = await login(mine.key.key)
    const headers = { cookie, origin: 'https://evil.example' }
    expect((await outside().get('/explorer/overview', headers)).status).toBe(403)
    expect((await send('logout', {}, headers)).status).toBe(403)
    expect((await send('logout', {}, { cookie })).headers.get('set-cookie')).toMatch(
      /^gdn_session_[0-9a-f]{8}=; .*Max-Age=0/,
    )
  })

  it('logging out ends the session on the server', async () => {
    const [ended, other] = [await login(mine.key.key), await login(theirs.key.key)]
    expect(await statusWith(ended)).toBe(200)
    await send('logout', {}, { cookie: ended })
    expect([await statusWith(ended), await statusWith(other)]).toEqual([401, 200])
  })

  it('logging out keeps the session of another login with the same key in the same millisecond', async () => {
    const at = Date.now()
    const still = await backendForTest({ host: '0.0.0.0', now: () => at })
    const { key } = await makeKey(still.dataDir, { email: 'me@example.com' })
    const [ended, kept] = [await cookieFrom(still, key), await cookieFrom(still, key)]
    await still.post('/explorer/logout', {}, { cookie: ended })
    expect(await Promise.all([ended, kept].map((cookie) => overviewOf(still, cookie)))).toEqual([401, 200])
  })

  it('an ended session stays ended after the clock was set back and forward again', async () => {
    const [ended, other] = [await login(mine.key.key), await login(mine.key.key)]
    shift = -30 * 24 * 3_600_000
    await send('logout', {}, { cookie: ended })
    shift = 0
    await send('logout', {}, { cookie: other })
    expect([await statusWith(ended), await statusWith(other)]).toEqual([401, 401])
  })

  it('a session that ended after a backup is not valid once the backup is restored', async () => {
    const before = await backendForTest({ host: '0.0.0.0' })
    const { dataDir } = before
    const { key } = await makeKey(dataDir, { email: 'me@example.com' })
    const cookie = await cookieFrom(before, key)
    expect(await overviewOf(before, cookie)).toBe(200)
    await before.close()
    const backup = await backUp(dataDir)
    const meanwhile = await backendForTest({ host: '0.0.0.0', dataDir })
    await meanwhile.post('/explorer/logout', {}, { cookie })
    expect(await overviewOf(meanwhile, cookie)).toBe(401)
    await meanwhile.close()
    await restore(dataDir, backup)
    const restored = await backendForTest({ host: '0.0.0.0', dataDir })
    expect(await overviewOf(restored, cookie)).toBe(401)
  })

  it('returns 413 for a large login', async () => {
    expect((await send('login', { api_key: 'x'.repeat(2000) })).status).toBe(413)
  })

  it('returns 429 for many logins in a row', async () => {
    const guess = async () => (await sendOnce('login', { api_key: 'gdn_guess' })).status
    const statuses = await withinASecond(() => Promise.all(Array.from({ length: 20 }, guess)))
    expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(10)
    expect(statuses).toContain(429)
  })

  it('counts a login before its body arrives', async () => {
    const headers = { 'content-type': 'application/json', 'content-length': 100 }
    const logins = Array.from({ length: 20 }, () =>
      request(`${elsewhere()}/explorer/login`, { method: 'POST', headers }),
    )
    const answers = logins.map(async (login) => {
      login.flushHeaders()
      const [answer] = (await once(login, 'response')) as [IncomingMessage]
      return answer.statusCode
    })
    expect(await Promise.any(answers)).toBe(429)
    for (const login of logins) login.destroy()
    await Promise.allSettled(answers)
  })

  it.each([
    ['one client of a trusted proxy that forges a header', ['127.0.0.1'], (n: number) => `10.9.0.${n}, 203.0.113.1`],
    ['one IPv6 network of a customer', ['127.0.0.1'], (n: number) => `2001:db8:0:1::${n}`],
    ['one client with its port in the header', ['127.0.0.1'], (n: number) => `203.0.113.1:${4000 + n}`],
    ['a peer that is not a trusted proxy', [], (n: number) => `203.0.113.${n}`],
  ])('counts logins per client: %s', async (_, trustProxy, forwarded) => {
    const proxied = await backendForTest({ trustProxy })
    const attempt = async (client: string) =>
      (await proxied.post('/explorer/login', { api_key: 'gdn_guess' }, { 'x-forwarded-for': client })).status
    const guesses = () => Promise.all(Array.from({ length: 20 }, (_, n) => attempt(forwarded(n))))
    const statuses = await withinASecond(guesses)
    expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(10)
    expect(statuses).toContain(429)
    if (trustProxy.length > 0) expect(await attempt('198.51.100.1')).toBe(401)
  })

  it('a session ends when its key is revoked', async () => {
    const key = await makeKey(backend.dataDir, { email: 'me@example.com' })
    const cookie = await login(key.key)
    expect(await statusWith(cookie)).toBe(200)
    await revokeKey(backend.dataDir, key)
    expect(await statusWith(cookie)).toBe(401)
  })

  it('a session ends after twelve hours', async () => {
    const cookie = await login(mine.key.key)
    shift = 12 * 3_600_000 - 60_000
    expect(await statusWith(cookie)).toBe(200)
    shift = 12 * 3_600_000
    expect(await statusWith(cookie)).toBe(401)
  })

  it('a changed session cookie is not valid', async () => {
    const cookie = await login(mine.key.key)
    const name = await cookieName()
    const [id = '', end = '', random = '', signature = ''] = cookie.replace(`${name}=`, '').split('.')
    expect(await statusWith(`${name}=${id}.${end}.${random}.${signature}`)).toBe(200)
    expect(await statusWith(`${name}=${theirs.key.id}.${end}.${random}.${signature}`)).toBe(401)
    expect(await statusWith(`${name}=${id}.${Number(end) + 1}.${random}.${signature}`)).toBe(401)
    expect(await statusWith(`${name}=${id}.${end}.${'A'.repeat(22)}.${signature}`)).toBe(401)
    const other = (signature.startsWith('A') ? 'B' : 'A') + signature.slice(1)
    expect(await statusWith(`${name}=${id}.${end}.${random}.${other}`)).toBe(401)
  })
})

describe('on loopback', () => {
  it('a server that other machines can reach requires a session too', async () => {
    const response = await fetch(`http://127.0.0.1:${new URL(backend.url).port}/explorer/overview`)
    expect(response.status).toBe(401)
  })

  it('a server on loopback only needs no session, except through a proxy', async () => {
    const local = await backendForTest({ trustProxy: ['127.0.0.1'] })
    const status = async (headers = {}) => (await local.get('/explorer/overview', headers)).status
    // The request comes from a proxy that doesn't name its client.
    expect(await status()).toBe(401)
    expect(await status({ 'x-forwarded-for': '203.0.113.9' })).toBe(401)
    expect(await status({ 'x-forwarded-for': '127.0.0.1' })).toBe(200)
    const open = await backendForTest()
    expect((await open.get('/explorer/overview')).status).toBe(200)
    expect((await open.get('/explorer/overview', { origin: 'https://evil.example' })).status).toBe(403)
    for (const [site, status] of [
      ['cross-site', 403],
      ['same-origin', 200],
      ['none', 200],
    ] as const) {
      expect((await open.get('/explorer/overview', { 'sec-fetch-site': site })).status).toBe(status)
    }
  })
})
