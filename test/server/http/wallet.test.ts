import { createECDH } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { keccak_256 } from '@noble/hashes/sha3.js'
import fc from 'fast-check'
import { privateKeyToAddress } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { checksumAddress } from '../../../src/api/address.ts'
import { generatedWallet } from '../../../src/api/endpoints/getpresignedurl.ts'
import { errorFormB } from '../../../src/api/errors.ts'
import { type Answer, freshDataDir, startTestBackend, type TestBackend, withStore } from '../../helpers/backend.ts'
import { filesHolding, textHolds } from '../../helpers/leaks.ts'
import { runs } from '../../helpers/runs.ts'

const START = Date.parse('2026-11-20T12:00:00Z')
const EMAIL = "o'hara+art@example.com"

let now = START
let dataDir: Awaited<ReturnType<typeof freshDataDir>>
let backend: TestBackend

beforeAll(async () => {
  dataDir = await freshDataDir()
  backend = await startTestBackend(dataDir.path, { now: () => now })
})
afterAll(async () => {
  await backend?.close()
  await dataDir?.remove()
})

/** Path and query of a signed URL. */
async function signedPath(timeout = 60, at = backend): Promise<string> {
  const { status, json } = await at.post('/api/v1/getpresignedurl', { email: EMAIL, timeout })
  if (status !== 200) throw new Error(JSON.stringify(json))
  const { pathname, search } = new URL(json.response.url)
  return pathname + search
}

/** POST to a path exactly as it is spelled, which fetch would tidy up. */
function post(path: string, { body = '', headers = {}, at = backend.url } = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(at)
    const request = httpRequest({ hostname, port, path, method: 'POST', headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => {
        const given = Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)])
        resolve({ status: response.statusCode ?? 0, headers: new Headers(given), json: JSON.parse(text) })
      })
    })
    request.on('error', reject)
    request.end(body)
  })
}

/** The answer is error form B and nothing more. */
function expectFormB({ status, json }: Answer, expected: { status: number; errorCode: string; detail?: unknown }) {
  const { detail = [] } = expected
  expect({ status, json }).toEqual({
    status: expected.status,
    json: { errorCode: expected.errorCode, message: expect.any(String), detail },
  })
  expect(errorFormB.safeParse(json).success).toBe(true)
}

const tampered = { status: 403, errorCode: 'SIGNED_URL_INVALID' }
const malformed = (name: string, type: string) => ({
  status: 400,
  errorCode: 'VALIDATION_ERROR',
  detail: expect.arrayContaining([{ loc: name === '' ? ['query'] : ['query', name], msg: expect.any(String), type }]),
})

function permutations<Item>(items: readonly Item[]): Item[][] {
  if (items.length === 0) return [[]]
  return items.flatMap((item, at) => permutations(items.toSpliced(at, 1)).map((rest) => [item, ...rest]))
}

describe('POST to a signed URL', () => {
  it('answers the parameters of the URL, with an empty signature, and a wallet, with no key and no body', async () => {
    const path = await signedPath(5)
    const { status, json, headers } = await post(path)
    expect(status).toBe(200)
    expect(json).toEqual({
      request: {
        expiry: START / 1000 + 300,
        issued_at: START / 1000,
        action: 'generate_wallet',
        issuer: EMAIL,
        signature: '',
      },
      wallet: {
        address: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
        private_key: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      },
    })
    expect(generatedWallet.safeParse(json).success).toBe(true)
    expect(headers.get('cache-control')).toBe('no-store')
  })

  it('gives the address, with its checksum, of the private key', async () => {
    const { address, private_key: key } = (await post(await signedPath())).json.wallet
    expect(address).toBe(privateKeyToAddress(key))
    expect(address).toBe(checksumAddress(address))
    // And by other libraries.
    const curve = createECDH('secp256k1')
    curve.setPrivateKey(key.slice(2), 'hex')
    const hash = keccak_256(curve.getPublicKey().subarray(1))
    expect(address.toLowerCase()).toBe(`0x${Buffer.from(hash.slice(12)).toString('hex')}`)
  })

  it('makes a new wallet each time, 100 at once too', async () => {
    const path = await signedPath()
    const answers = await Promise.all(Array.from({ length: 100 }, () => post(path)))
    expect(answers.map(({ status }) => status)).toEqual(Array(100).fill(200))
    for (const field of ['address', 'private_key']) {
      expect(new Set(answers.map(({ json }) => json.wallet[field])).size).toBe(100)
    }
  })

  it('can be used from a web page', async () => {
    const response = await fetch(backend.url + (await signedPath()), {
      method: 'POST',
      headers: { origin: 'https://shop.example' },
    })
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([200, '*'])
  })

  it.each([
    ['JSON', '{}', 'application/json'],
    ['broken JSON', '{', 'application/json'],
    ['poisoned JSON', '{"__proto__":{}}', 'application/json'],
    ['a form', 'email=x', 'application/x-www-form-urlencoded'],
    ['bytes of no type', '\0\x01', ''],
    ['an empty body that says it is JSON', '', 'application/json'],
  ])('a body is ignored: %s', async (_what, body, type) => {
    const headers = type === '' ? {} : { 'content-type': type }
    expect((await post(await signedPath(), { body, headers })).status).toBe(200)
  })

  it('a body that is no accident is 413', async () => {
    const answer = await post(await signedPath(), { body: 'x'.repeat(70_000) })
    expectFormB(answer, { status: 413, errorCode: 'PAYLOAD_TOO_LARGE' })
  })

  it('is no place for another method', async () => {
    const response = await fetch(backend.url + (await signedPath()))
    expect(response.status).toBe(404)
  })
})

describe('a signed URL that was changed', () => {
  it('in any bit of any byte is refused', async () => {
    const path = await signedPath()
    const statuses = new Set<number>()
    let changes = 0
    for (let at = 1; at < path.length; at++) {
      for (let bit = 0; bit < 7; bit++) {
        const flipped = String.fromCharCode(path.charCodeAt(at) ^ (1 << bit))
        // What is no character of a request line never leaves this side.
        if (!/[!-~]/.test(flipped)) continue
        const changed = path.slice(0, at) + flipped + path.slice(at + 1)
        const { status, json } = await post(changed)
        statuses.add(status)
        changes++
        expect([changed, json.wallet]).toEqual([changed, undefined])
      }
    }
    expect(changes).toBeGreaterThan(1000)
    expect([...statuses].sort()).toEqual([400, 403, 404])
    expect((await post(path)).status).toBe(200)
  })

  it('in several places at random is refused', async () => {
    const path = await signedPath()
    const query = path.slice(path.indexOf('?') + 1)
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(query.length - 1), fc.stringMatching(/^[!-~]?$/)), { minLength: 1, maxLength: 4 }),
        async (edits) => {
          const characters = [...query]
          for (const [at, character] of edits) characters[at] = character
          fc.pre(characters.join('') !== query)
          const { status, json } = await post(`/v1/wallet/create?${characters.join('')}`)
          expect([status, json.wallet]).toEqual([status === 400 ? 400 : 403, undefined])
        },
      ),
      { numRuns: runs(300) },
    )
  })

  const parameters = ['expiry', 'issued_at', 'action', 'issuer', 'signature']

  it.each(parameters)('by giving %s twice is 400, with the same value and with another', async (name) => {
    const path = await signedPath()
    const value = new URL(path, backend.url).searchParams.get(name) ?? ''
    for (const second of [value, '1', '']) {
      for (const doubled of [
        `${path}&${name}=${encodeURIComponent(second)}`,
        path.replace('?', `?${name}=${encodeURIComponent(second)}&`),
      ]) {
        expectFormB(await post(doubled), malformed(name, 'value_error'))
      }
    }
    // Also in another spelling of its name.
    expectFormB(await post(`${path}&${name.replace(/^./, (c) => `%${c.charCodeAt(0).toString(16)}`)}=1`), {
      ...malformed(name, 'value_error'),
    })
  })

  it.each(parameters)('by emptying %s is 400', async (name) => {
    const path = await signedPath()
    for (const empty of [`${name}=`, name]) {
      const changed = path.replace(new RegExp(`${name}=[^&]*`), empty)
      expectFormB(await post(changed), malformed(name, 'value_error'))
    }
  })

  it.each(parameters)('by leaving %s out is 400', async (name) => {
    const changed = (await signedPath())
      .replace(new RegExp(`[?&]${name}=[^&]*`), (found) => found.slice(0, 1))
      .replace('?&', '?')
    expectFormB(await post(changed.replace(/&+/g, '&').replace(/&$/, '')), malformed(name, 'value_error.missing'))
  })

  it('by an unknown parameter is 400, whatever its name', async () => {
    const path = await signedPath()
    for (const name of ['utm_source', '__proto__', 'Expiry', 'expiry[]', 'expiry%00', 'constructor']) {
      const loc = ['query', decodeURIComponent(name)]
      expectFormB(await post(`${path}&${name}=1`), {
        status: 400,
        errorCode: 'VALIDATION_ERROR',
        detail: [{ loc, msg: expect.any(String), type: 'value_error.extra' }],
      })
    }
  })

  it.each([
    ['1e15', 400],
    ['-1', 400],
    ['+1800000000', 400],
    ['0x7fffffff', 400],
    ['1800000000.5', 400],
    ['%201800000000', 400],
    ['01800000000', 400],
    ['１８００００００００', 400],
    ['99999999999999999999', 400],
    ['NaN', 400],
    ['999999999999999', 403],
    ['0', 403],
  ])('to expiry=%s is %i', async (expiry, status) => {
    const changed = (await signedPath()).replace(/expiry=\d+/, `expiry=${encodeURI(expiry).replaceAll('%25', '%')}`)
    const answer = await post(changed)
    expectFormB(answer, status === 403 ? tampered : malformed('expiry', 'type_error.integer'))
  })

  it.each([
    ['cut by one digit', (s: string) => s.slice(0, -1)],
    ['with one digit more', (s: string) => `${s}0`],
    ['in capital letters', (s: string) => s.toUpperCase()],
    ['of the right length and wrong', () => '0'.repeat(96)],
    ['of other characters', () => 'é'.repeat(48)],
    ['that is another one’s salt', (s: string) => s.slice(32) + s.slice(0, 32)],
  ])('to a signature %s is 403', async (_what, change) => {
    const changed = (await signedPath()).replace(
      /signature=(\w+)/,
      (_all, s) => `signature=${encodeURIComponent(change(s))}`,
    )
    expectFormB(await post(changed), tampered)
  })

  it('to another action or issuer is 403', async () => {
    const path = await signedPath()
    expectFormB(await post(path.replace('generate_wallet', 'delete_wallet')), tampered)
    expectFormB(await post(path.replace(/issuer=[^&]*/, 'issuer=a%40example.com')), tampered)
  })

  it('by encoding that is none is 400', async () => {
    const path = await signedPath()
    for (const bad of ['%', '%zz', '%ff', '%c0%ae']) {
      expectFormB(await post(path.replace(/issuer=[^&]*/, `issuer=${bad}`)), malformed('issuer', 'value_error'))
      expectFormB(await post(`${path}&${bad}=1`), malformed('', 'value_error'))
    }
  })

  it('to 4 KiB more is 400', async () => {
    expectFormB(await post(`${await signedPath()}${'&a=1'.repeat(1024)}`), malformed('', 'value_error'))
  })

  it.each([
    '/v1/wallet/create/',
    '/v1/wallet/',
    '/v1/wallet/create/..',
    '/v1/wallet/x/../create',
    '/v1/wallet/x/%2e%2e/create',
    '/V1/wallet/create',
  ])('to the path %s is 404', async (path) => {
    const query = (await signedPath()).split('?')[1]
    expect((await post(`${path}?${query}`)).status).toBe(404)
  })
})

describe('a signed URL that says the same in another way is refused', () => {
  it('with its parameters in another order: each of the 119', async () => {
    const path = await signedPath()
    const [base, query = ''] = path.split('?')
    const orders = permutations(query.split('&')).map((pairs) => pairs.join('&'))
    expect(new Set(orders).size).toBe(120)
    for (const order of orders) {
      const answer = await post(`${base}?${order}`)
      if (order === query) expect(answer.status).toBe(200)
      else expectFormB(answer, tampered)
    }
  })

  it('with other characters percent-encoded, or the same in other letters', async () => {
    const path = await signedPath()
    for (const changed of [
      path.replace('%40', '@'),
      path.replace('%27', "'"),
      path.replace('%2B', '+'),
      path.replace('%2B', '%2b'),
      path.replace('generate_wallet', '%67enerate_wallet'),
      path.replace('expiry=', '%65xpiry='),
    ]) {
      expect(changed).not.toBe(path)
      expectFormB(await post(changed), tampered)
    }
  })

  it('with more behind it', async () => {
    const path = await signedPath()
    for (const more of ['&', '&&', '?', '=', '%00', '&#'])
      expect((await post(path + more)).status).toBeOneOf([400, 403])
    expectFormB(await post(`${path} `.replace(/ $/, '%20')), tampered)
  })
})

describe('time', () => {
  const expired = { status: 410, errorCode: 'SIGNED_URL_EXPIRED' }
  const early = { status: 403, errorCode: 'SIGNED_URL_NOT_YET_VALID' }
  let other: Awaited<ReturnType<typeof freshDataDir>>
  let timed: TestBackend
  let steady = 0
  const start = () => startTestBackend(other.path, { now: () => now, steadyNow: () => steady })
  beforeEach(async () => {
    now = START
    steady = 0
    other = await freshDataDir()
    timed = await start()
  })
  afterEach(async () => {
    now = START
    await timed.close()
    await other.remove()
  })
  const send = (path: string) => post(path, { at: timed.url })

  it('a URL is valid until its last millisecond, and 410 from its expiry on', async () => {
    const path = await signedPath(1, timed)
    now = START + 59_999
    expect((await send(path)).status).toBe(200)
    for (const late of [60_000, 61_000, 3_600_000, 10 ** 12]) {
      now = START + late
      expectFormB(await send(path), expired)
    }
  })

  it('what has expired stays so when the clock is set back, and back and forth', async () => {
    const path = await signedPath(1, timed)
    for (const step of [61_000, 0, -600_000, 59_000, 3_600_000, 1]) {
      now = START + step
      expectFormB(await send(path), expired)
    }
  })

  it('a clock that is set back gives a URL no more time', async () => {
    const path = await signedPath(1, timed)
    now = START - 600_000
    steady = 59_999
    expect((await send(path)).status).toBe(200)
    steady = 60_000
    expectFormB(await send(path), expired)
  })

  it('after a step forth and back new URLs are valid for as long as they say, and no longer', async () => {
    now = START + 86_400_000
    await signedPath(1, timed)
    now = START
    const path = await signedPath(1, timed)
    steady = 59_999
    expect((await send(path)).status).toBe(200)
    steady = 60_000
    expectFormB(await send(path), expired)
  })

  it('one that was issued while the clock was ahead is refused after a restart, until its time', async () => {
    now = START + 3_600_000
    const path = await signedPath(10, timed)
    await timed.close()
    now = START
    timed = await start()
    expectFormB(await send(path), early)
    now = START + 3_600_000 - 60_000
    expect((await send(path)).status).toBe(200)
    now = START + 3_600_000 + 600_000
    expectFormB(await send(path), expired)
  })

  it('that a URL has expired is told only to who has a genuine one', async () => {
    const path = await signedPath(1, timed)
    const forged = path.replace(/signature=\w+/, `signature=${'0'.repeat(96)}`)
    now = START + 60_000
    expectFormB(await send(forged), tampered)
  })
})

describe('a URL outlives', () => {
  it('a restart, and not the secret of its data dir', async () => {
    const other = await freshDataDir()
    const first = await startTestBackend(other.path)
    const path = await signedPath(60, first)
    await first.close()
    const second = await startTestBackend(other.path)
    expect((await post(path, { at: second.url })).status).toBe(200)
    expectFormB(await post(path), tampered)
    await second.close()
    await other.remove()
  })
})

describe('--single-use-urls', () => {
  const used = { status: 410, errorCode: 'SIGNED_URL_USED' }
  let other: Awaited<ReturnType<typeof freshDataDir>>
  let single: TestBackend
  const start = () => startTestBackend(other.path, { singleUseUrls: true, now: () => now })
  beforeAll(async () => {
    other = await freshDataDir()
    single = await start()
  })
  afterAll(async () => {
    await single?.close()
    await other?.remove()
  })
  const send = (path: string) => post(path, { at: single.url })

  it('of 100 POSTs at once exactly one gets a wallet', async () => {
    const path = await signedPath(60, single)
    const answers = await Promise.all(Array.from({ length: 100 }, () => send(path)))
    const lucky = answers.filter(({ status }) => status === 200)
    expect(lucky).toHaveLength(1)
    for (const answer of answers) if (!lucky.includes(answer)) expectFormB(answer, used)
  })

  it('of two URLs that were given out in the same second each makes a wallet', async () => {
    for (const path of [await signedPath(61, single), await signedPath(61, single)]) {
      expect((await send(path)).status).toBe(200)
      expectFormB(await send(path), used)
    }
  })

  it('what was refused is not used up', async () => {
    const path = await signedPath(62, single)
    expect((await send(`${path}&x=1`)).status).toBe(400)
    expect((await send(path)).status).toBe(200)
  })

  it('holds across a restart', async () => {
    const path = await signedPath(63, single)
    await send(path)
    await single.close()
    single = await start()
    expectFormB(await send(path), used)
  })

  it('a clock that ran a day ahead and is set back makes no used URL valid again', async () => {
    const path = await signedPath(1, single)
    await send(path)
    now = START + 86_400_000
    await send(await signedPath(1, single))
    await single.close()
    now = START
    single = await start()
    expectFormB(await send(path), used)
  })

  it('used URLs are forgotten once they are long expired', async () => {
    const count = () =>
      withStore(other.path, async ({ db }) => (await db.selectFrom('used_signed_urls').selectAll().execute()).length)
    expect(await count()).toBeGreaterThan(3)
    now = START + 30 * 86_400_000
    await send(await signedPath(1, single))
    now = START
    expect(await count()).toBe(1)
  })
})

it('private keys are in no file of the data dir and in no line of the log, in no spelling', async () => {
  const path = await signedPath()
  const keys: string[] = []
  for (let i = 0; i < 20; i++) keys.push((await post(path)).json.wallet.private_key)
  const log = backend.log.join('')
  const leaks = await Promise.all(keys.map((key) => filesHolding(dataDir.path, key)))
  expect(leaks.flat()).toEqual([])
  expect(keys.filter((key) => textHolds(log, key))).toEqual([])
  // Nor are the URLs, which whoever reads the log could use.
  const signature = new URL(path, backend.url).searchParams.get('signature') ?? ''
  expect(textHolds(log, signature)).toBe(false)
  expect(await filesHolding(dataDir.path, signature)).toEqual([])
  // The search finds what is there: the signing secret is in its own file.
  const [file] = await filesHolding(dataDir.path, `0x${await urlSecret()}`)
  expect(file).toMatch(/url-secret$/)
})

async function urlSecret(): Promise<string> {
  const path = `${dataDir.path}/url-secret`
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  return (await readFile(path, 'utf8')).trim()
}
