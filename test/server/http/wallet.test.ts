/** @module-tag slow */
import { createECDH } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { keccak_256 } from '@noble/hashes/sha3.js'
import fc from 'fast-check'
import { privateKeyToAddress } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { checksumAddress } from '../../../src/api/address.ts'
import { generatedWalletSchema } from '../../../src/api/endpoints/getpresignedurl.ts'
import { errorFormBSchema } from '../../../src/api/errors.ts'
import {
  type Answer,
  backendForFile,
  freshDataDir,
  startTestBackend,
  type TestBackend,
  withStore,
} from '../../helpers/backend.ts'
import { filesHolding, textHolds } from '../../helpers/leaks.ts'
import { runs } from '../../helpers/runs.ts'

const START = Date.parse('2026-11-20T12:00:00Z')
const EMAIL = "o'hara+art@example.com"

let now = START
let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile({ now: () => now })
})

/** Path and query of a signed URL. */
async function signedPath(timeout = 60, at = backend): Promise<string> {
  const { status, json } = await at.post('/api/v1/getpresignedurl', { email: EMAIL, timeout })
  if (status !== 200) throw new Error(JSON.stringify(json))
  const { pathname, search } = new URL(json.response.url)
  return pathname + search
}

/** Sends a POST to a path exactly as it is spelled. fetch would normalize it. */
function post(path: string, { body = '', headers = {}, at = backend.url } = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(at)
    const request = httpRequest({ hostname, port, path, method: 'POST', headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => {
        const headerPairs = Object.entries(response.headers).map(([name, value]): [string, string] => [
          name,
          String(value),
        ])
        resolve({ status: response.statusCode ?? 0, headers: new Headers(headerPairs), json: JSON.parse(text) })
      })
    })
    request.on('error', reject)
    request.end(body)
  })
}

/** Expects a response of error form B without other fields. */
function expectFormB({ status, json }: Answer, expected: { status: number; errorCode: string; detail?: unknown }) {
  const { detail = [] } = expected
  expect({ status, json }).toEqual({
    status: expected.status,
    json: { errorCode: expected.errorCode, message: expect.any(String), detail },
  })
  expect(errorFormBSchema.safeParse(json).success).toBe(true)
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
  it('returns the parameters of the URL, with an empty signature, and a wallet, without a key or body', async () => {
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
    expect(generatedWalletSchema.safeParse(json).success).toBe(true)
    expect(headers.get('cache-control')).toBe('no-store')
  })

  it('returns the address of the private key with its checksum', async () => {
    const { address, private_key: key } = (await post(await signedPath())).json.wallet
    expect(address).toBe(privateKeyToAddress(key))
    expect(address).toBe(checksumAddress(address))
    // Other libraries derive the same address.
    const curve = createECDH('secp256k1')
    curve.setPrivateKey(key.slice(2), 'hex')
    const hash = keccak_256(curve.getPublicKey().subarray(1))
    expect(address.toLowerCase()).toBe(`0x${Buffer.from(hash.slice(12)).toString('hex')}`)
  })

  it('creates a new wallet each time, including for 100 requests at once', async () => {
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
    ['an empty body of type JSON', '', 'application/json'],
  ])('ignores a body: %s', async (_what, body, type) => {
    const headers = type === '' ? {} : { 'content-type': type }
    expect((await post(await signedPath(), { body, headers })).status).toBe(200)
  })

  it('returns 413 for a body of 70 kB', async () => {
    const answer = await post(await signedPath(), { body: 'x'.repeat(70_000) })
    expectFormB(answer, { status: 413, errorCode: 'PAYLOAD_TOO_LARGE' })
  })

  it('returns 404 for another method', async () => {
    const response = await fetch(backend.url + (await signedPath()))
    expect(response.status).toBe(404)
  })
})

describe('a changed signed URL', () => {
  it('rejects a signed URL with any bit flipped', async () => {
    const path = await signedPath()
    const statuses = new Set<number>()
    let changes = 0
    for (let at = 1; at < path.length; at++) {
      for (let bit = 0; bit < 7; bit++) {
        const flipped = String.fromCharCode(path.charCodeAt(at) ^ (1 << bit))
        // The client can't send characters that are invalid in a request line.
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

  it('is rejected with random changes in several places', async () => {
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

  it.each(parameters)('returns 400 with %s given twice, with the same value or another', async (name) => {
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
    // The same holds for another spelling of its name.
    expectFormB(await post(`${path}&${name.replace(/^./, (c) => `%${c.charCodeAt(0).toString(16)}`)}=1`), {
      ...malformed(name, 'value_error'),
    })
  })

  it.each(parameters)('returns 400 with an empty %s', async (name) => {
    const path = await signedPath()
    for (const empty of [`${name}=`, name]) {
      const changed = path.replace(new RegExp(`${name}=[^&]*`), empty)
      expectFormB(await post(changed), malformed(name, 'value_error'))
    }
  })

  it.each(parameters)('returns 400 without %s', async (name) => {
    const changed = (await signedPath())
      .replace(new RegExp(`[?&]${name}=[^&]*`), (found) => found.slice(0, 1))
      .replace('?&', '?')
    expectFormB(await post(changed.replace(/&+/g, '&').replace(/&$/, '')), malformed(name, 'value_error.missing'))
  })

  it('returns 400 with an unknown parameter of any name', async () => {
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
  ])('with expiry=%s returns %i', async (expiry, status) => {
    const changed = (await signedPath()).replace(/expiry=\d+/, `expiry=${encodeURI(expiry).replaceAll('%25', '%')}`)
    const answer = await post(changed)
    expectFormB(answer, status === 403 ? tampered : malformed('expiry', 'type_error.integer'))
  })

  it.each([
    ['without its last digit', (s: string) => s.slice(0, -1)],
    ['with an extra digit', (s: string) => `${s}0`],
    ['in capital letters', (s: string) => s.toUpperCase()],
    ['of zeros', () => '0'.repeat(96)],
    ['of other characters', () => 'é'.repeat(48)],
    ['with salt and HMAC swapped', (s: string) => s.slice(32) + s.slice(0, 32)],
  ])('returns 403 with a signature %s', async (_what, change) => {
    const changed = (await signedPath()).replace(
      /signature=(\w+)/,
      (_all, s) => `signature=${encodeURIComponent(change(s))}`,
    )
    expectFormB(await post(changed), tampered)
  })

  it('returns 403 with another action or issuer', async () => {
    const path = await signedPath()
    expectFormB(await post(path.replace('generate_wallet', 'delete_wallet')), tampered)
    expectFormB(await post(path.replace(/issuer=[^&]*/, 'issuer=a%40example.com')), tampered)
  })

  it('returns 400 with invalid percent-encoding', async () => {
    const path = await signedPath()
    for (const bad of ['%', '%zz', '%ff', '%c0%ae']) {
      expectFormB(await post(path.replace(/issuer=[^&]*/, `issuer=${bad}`)), malformed('issuer', 'value_error'))
      expectFormB(await post(`${path}&${bad}=1`), malformed('', 'value_error'))
    }
  })

  it('returns 400 with 4 KiB of extra parameters', async () => {
    expectFormB(await post(`${await signedPath()}${'&a=1'.repeat(1024)}`), malformed('', 'value_error'))
  })

  it.each([
    '/v1/wallet/create/',
    '/v1/wallet/',
    '/v1/wallet/create/..',
    '/v1/wallet/x/../create',
    '/v1/wallet/x/%2e%2e/create',
    '/V1/wallet/create',
  ])('returns 404 with the path %s', async (path) => {
    const query = (await signedPath()).split('?')[1]
    expect((await post(`${path}?${query}`)).status).toBe(404)
  })
})

describe('an equivalent spelling of a signed URL is rejected', () => {
  it('with its parameters in each of the 119 other orders', async () => {
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

  it('with other percent-encoding', async () => {
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

  it('with characters appended', async () => {
    const path = await signedPath()
    for (const more of ['&', '&&', '?', '=', '%00', '&#'])
      expect((await post(path + more)).status).toBeOneOf([400, 403])
    expectFormB(await post(`${path} `.replace(/ $/, '%20')), tampered)
  })
})

describe('expiry', () => {
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

  it('a URL is valid until its last millisecond and returns 410 from its expiry on', async () => {
    const path = await signedPath(1, timed)
    now = START + 59_999
    expect((await send(path)).status).toBe(200)
    for (const late of [60_000, 61_000, 3_600_000, 10 ** 12]) {
      now = START + late
      expectFormB(await send(path), expired)
    }
  })

  it('an expired URL stays expired if the clock is set back or forward', async () => {
    const path = await signedPath(1, timed)
    for (const step of [61_000, 0, -600_000, 59_000, 3_600_000, 1]) {
      now = START + step
      expectFormB(await send(path), expired)
    }
  })

  it('a clock that is set back does not extend the validity of a URL', async () => {
    const path = await signedPath(1, timed)
    now = START - 600_000
    steady = 59_999
    expect((await send(path)).status).toBe(200)
    steady = 60_000
    expectFormB(await send(path), expired)
  })

  it('after the clock steps forward and back, new URLs are valid for exactly their timeout', async () => {
    now = START + 86_400_000
    await signedPath(1, timed)
    now = START
    const path = await signedPath(1, timed)
    steady = 59_999
    expect((await send(path)).status).toBe(200)
    steady = 60_000
    expectFormB(await send(path), expired)
  })

  it('a URL issued while the clock was ahead is rejected after a restart until that time', async () => {
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

  it('a forged URL that has expired returns 403, not 410', async () => {
    const path = await signedPath(1, timed)
    const forged = path.replace(/signature=\w+/, `signature=${'0'.repeat(96)}`)
    now = START + 60_000
    expectFormB(await send(forged), tampered)
  })
})

describe('a signed URL', () => {
  it('is valid after a restart, but not with another data dir’s secret', async () => {
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

  it('exactly one of 100 simultaneous POSTs gets a wallet', async () => {
    const path = await signedPath(60, single)
    const answers = await Promise.all(Array.from({ length: 100 }, () => send(path)))
    const lucky = answers.filter(({ status }) => status === 200)
    expect(lucky).toHaveLength(1)
    for (const answer of answers) if (!lucky.includes(answer)) expectFormB(answer, used)
  })

  it('each of two URLs issued in the same second creates a wallet', async () => {
    for (const path of [await signedPath(61, single), await signedPath(61, single)]) {
      expect((await send(path)).status).toBe(200)
      expectFormB(await send(path), used)
    }
  })

  it('a rejected request does not use up the URL', async () => {
    const path = await signedPath(62, single)
    expect((await send(`${path}&x=1`)).status).toBe(400)
    expect((await send(path)).status).toBe(200)
  })

  it('a used URL stays used after a restart', async () => {
    const path = await signedPath(63, single)
    await send(path)
    await single.close()
    single = await start()
    expectFormB(await send(path), used)
  })

  it('a used URL stays used after a clock that ran a day ahead is set back', async () => {
    const path = await signedPath(1, single)
    await send(path)
    now = START + 86_400_000
    await send(await signedPath(1, single))
    await single.close()
    now = START
    single = await start()
    expectFormB(await send(path), used)
  })

  it('used URLs are deleted long after their expiry', async () => {
    const count = () =>
      withStore(other.path, async ({ db }) => (await db.selectFrom('used_signed_urls').selectAll().execute()).length)
    expect(await count()).toBeGreaterThan(3)
    now = START + 30 * 86_400_000
    await send(await signedPath(1, single))
    now = START
    expect(await count()).toBe(1)
  })
})

it('private keys are in no file of the data dir and no log line, in any encoding', async () => {
  const path = await signedPath()
  const keys: string[] = []
  for (let i = 0; i < 20; i++) keys.push((await post(path)).json.wallet.private_key)
  const log = backend.log.join('')
  const leaks = await Promise.all(keys.map((key) => filesHolding(backend.dataDir, key)))
  expect(leaks.flat()).toEqual([])
  expect(keys.filter((key) => textHolds(log, key))).toEqual([])
  // Nor are the URLs, which a reader of the log could use.
  const signature = new URL(path, backend.url).searchParams.get('signature') ?? ''
  expect(textHolds(log, signature)).toBe(false)
  expect(await filesHolding(backend.dataDir, signature)).toEqual([])
  // To prove the search, it must find the signing secret in its own file.
  const [file] = await filesHolding(backend.dataDir, `0x${await urlSecret()}`)
  expect(file).toMatch(/url-secret$/)
})

async function urlSecret(): Promise<string> {
  const path = `${backend.dataDir}/url-secret`
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  return (await readFile(path, 'utf8')).trim()
}
