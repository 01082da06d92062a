import { createHmac } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { errorFormBSchema } from '../../../src/api/errors.ts'
import {
  backendForFile,
  exchangeBytes,
  freshDataDir,
  startTestBackend,
  type TestBackend,
} from '../../helpers/backend.ts'
import { ENDPOINTS } from '../../helpers/endpoints.ts'
import { makeKey } from '../../helpers/keys.ts'

const NOW = Date.parse('2026-11-20T12:00:00.789Z')
const EMAIL = "o'hara+art@example.com"
const SECONDS = Math.floor(NOW / 1000)

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile({ now: () => NOW })
})

const ask = (body: unknown, headers: Record<string, string> = {}) =>
  backend.post('/api/v1/getpresignedurl', body, headers)

async function urlFor(body: object, headers: Record<string, string> = {}): Promise<URL> {
  const { status, json } = await ask(body, headers)
  if (status !== 200) throw new Error(JSON.stringify(json))
  return new URL(ENDPOINTS.getpresignedurl.response.parse(json).response.url)
}

describe('the signed URL', () => {
  it('has exactly the path and parameters of the API reference', async () => {
    const url = await urlFor({ email: 'artist@example.com', timeout: 5 })
    expect(url.pathname).toBe('/v1/wallet/create')
    expect([...url.searchParams.keys()]).toEqual(['expiry', 'issued_at', 'action', 'issuer', 'signature'])
    expect(Object.fromEntries(url.searchParams)).toEqual({
      expiry: String(SECONDS + 300),
      issued_at: String(SECONDS),
      action: 'generate_wallet',
      issuer: 'artist@example.com',
      signature: expect.stringMatching(/^[0-9a-f]{96}$/),
    })
  })

  it('has the e-mail address URL-encoded', async () => {
    const { href } = await urlFor({ email: EMAIL })
    expect(href).toContain('&issuer=o%27hara%2Bart%40example.com&')
  })

  it.each([
    [undefined, 60],
    [1, 1],
    [10_080, 10_080],
  ])('with a timeout of %s minutes is valid for %i minutes', async (timeout, minutes) => {
    const { status, json } = await ask({ email: 'a@example.com', ...(timeout === undefined ? {} : { timeout }) })
    expect({ status, request: json.request }).toEqual({
      status: 200,
      request: { email: 'a@example.com', timeout: minutes },
    })
    expect(new URL(json.response.url).searchParams.get('expiry')).toBe(String(SECONDS + minutes * 60))
  })

  describe('and the Host header of the request', () => {
    const answerFor = async (host: string) => {
      const body = JSON.stringify({ email: EMAIL })
      const head = `POST /api/v1/getpresignedurl HTTP/1.1\r\nhost: ${host}\r\nx-api-key: ${backend.apiKey.reveal()}`
      const more = `content-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close`
      const answer = await exchangeBytes(backend.url, `${head}\r\n${more}\r\n\r\n${body}`)
      return { status: Number(answer.slice(9, 12)), json: JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)) }
    }

    it.each(['localhost:4680', '127.0.0.1:4680', '[::1]:4680', 'localhost'])(
      'has the origin of the request: %s',
      async (host) => {
        const { json } = await answerFor(host)
        expect(new URL(json.response.url).origin).toBe(`http://${host}`)
      },
    )

    it.each([
      ['localhost:99999', 400, 'BAD_REQUEST'],
      ['localhost/x', 421, 'MISDIRECTED_REQUEST'],
      ['user@localhost', 421, 'MISDIRECTED_REQUEST'],
      ['evil.example', 421, 'MISDIRECTED_REQUEST'],
    ])('is rejected for the host %s with %i', async (host, status, errorCode) => {
      expect(await answerFor(host)).toMatchObject({ status, json: { errorCode, detail: [] } })
    })
  })

  it('is signed by HMAC-SHA-256 over method, path, parameters and a salt with the secret of the data dir', async () => {
    const { searchParams } = await urlFor({ email: EMAIL, timeout: 1 })
    const secret = (await readFile(join(backend.dataDir, 'url-secret'), 'utf8')).trim()
    const [, salt = ''] = /^([0-9a-f]{32})/.exec(searchParams.get('signature') ?? '') ?? []
    const query = `expiry=${SECONDS + 60}&issued_at=${SECONDS}&action=generate_wallet&issuer=o%27hara%2Bart%40example.com`
    const hmac = createHmac('sha256', Buffer.from(secret, 'hex')).update(`POST\n/v1/wallet/create\n${query}\n${salt}`)
    expect(searchParams.get('signature')).toBe(salt + hmac.digest('hex'))
  })

  it('is different each time, also within one second', async () => {
    const urls = await Promise.all(Array.from({ length: 20 }, () => urlFor({ email: EMAIL })))
    expect(new Set(urls.map(({ href }) => href)).size).toBe(20)
  })

  it('is encoded as HTTP clients normalize it', async () => {
    const email = "o'hara+a_b-c.d@example.com"
    const { status, json } = await ask({ email })
    expect(status).toBe(200)
    const { url } = json.response
    expect(url).toContain('&issuer=o%27hara%2Ba_b-c.d%40example.com&')
    expect(new URL(url).href).toBe(url)
  })

  it('differs for every secret, so another data dir has other signatures', async () => {
    const other = await freshDataDir()
    const second = await startTestBackend(other.path, { now: () => NOW })
    const { json } = await second.post('/api/v1/getpresignedurl', { email: 'a@example.com' })
    const mine = await urlFor({ email: 'a@example.com' })
    expect(new URL(json.response.url).searchParams.get('signature')).not.toBe(mine.searchParams.get('signature'))
    await second.close()
    await other.remove()
  })
})

it('a damaged secret prevents the start, with a hint', async () => {
  const other = await freshDataDir()
  await (await startTestBackend(other.path)).close()
  await writeFile(join(other.path, 'url-secret'), 'short\n', { mode: 0o600 })
  await expect(startTestBackend(other.path)).rejects.toMatchObject({
    code: 'data_dir',
    message: expect.stringContaining('url-secret is damaged'),
    hint: expect.stringContaining('Delete the secret'),
  })
  await other.remove()
})

describe('the e-mail address', () => {
  it('the email address must be that of the key’s account, in upper or lower case', async () => {
    const key = await makeKey(backend.dataDir, { email: 'Artist@Example.com', permissions: ['wallet:create'] })
    expect((await urlFor({ email: 'ARTIST@example.com' }, key.headers)).searchParams.get('issuer')).toBe(
      'ARTIST@example.com',
    )
    for (const email of ['someone@example.com', 'artist@example.com.evil.example', 'xartist@example.com']) {
      const { status, json } = await ask({ email }, key.headers)
      expect({ status, json }).toEqual({
        status: 403,
        json: {
          errorCode: 'FORBIDDEN',
          message: "email must be the address of the API key's own account",
          detail: [],
        },
      })
    }
  })

  it('may be any address for the local account', async () => {
    expect((await urlFor({ email: 'anyone@example.com' })).searchParams.get('issuer')).toBe('anyone@example.com')
  })
})

describe('an invalid request returns 400 in form B, with the location, type and limit of each error', () => {
  const email = 'a@example.com'
  const limit = (type: string, msg: string, value: number, field = 'timeout') => ({
    loc: ['body', field],
    msg,
    type,
    ctx: { limit_value: value },
  })
  const fault = (loc: string[], type: string, msg: RegExp) => ({
    loc: ['body', ...loc],
    type,
    msg: expect.stringMatching(msg),
  })
  const le = limit('value_error.number.not_le', 'must be at most 10080', 10_080)
  const ge = limit('value_error.number.not_ge', 'must be at least 1', 1)

  it.each<[string, unknown, object[]]>([
    ['a timeout of 10081', { email, timeout: 10_081 }, [le]],
    ['a timeout of 1e300', `{"email":"${email}","timeout":1e300}`, [le]],
    [
      'a timeout beyond all numbers',
      `{"email":"${email}","timeout":1e400}`,
      [fault(['timeout'], 'type_error.integer', /./)],
    ],
    ['a timeout of 0', { email, timeout: 0 }, [ge]],
    ['a timeout of -0', `{"email":"${email}","timeout":-0}`, [ge]],
    ['a timeout of -1', { email, timeout: -1 }, [ge]],
    ['half a minute', { email, timeout: 0.5 }, [fault(['timeout'], 'type_error.integer', /must be an int/)]],
    ['text for a timeout', { email, timeout: '60' }, [fault(['timeout'], 'type_error.integer', /not a string/)]],
    ['null for a timeout', { email, timeout: null }, [fault(['timeout'], 'type_error.integer', /not null/)]],
    ['no e-mail address', { timeout: 1 }, [fault(['email'], 'value_error.missing', /^is required$/)]],
    ['an invalid e-mail address', { email: 'artist' }, [fault(['email'], 'value_error.email', /e-mail address/)]],
    ['a number for an e-mail address', { email: 7 }, [fault(['email'], 'type_error.str', /not a number/)]],
    [
      'an e-mail address of 260 characters',
      { email: `${'a'.repeat(64)}@${'b.'.repeat(94)}example.com` },
      [limit('value_error.any_str.max_length', 'must have at most 254 characters', 254, 'email')],
    ],
    ['an unknown field', { email, minutes: 5 }, [fault(['minutes'], 'value_error.extra', /not a known field/)]],
    ['several errors', { timeout: 0 }, [fault(['email'], 'value_error.missing', /./), ge]],
    ['a list', [], [fault([], 'type_error.dict', /must be an object/)]],
    ['no JSON', '{', [fault([], 'value_error.jsondecode', /not valid JSON/)]],
    ['nothing', '', [fault([], 'value_error.jsondecode', /not valid JSON/)]],
  ])('%s', async (_what, body, detail) => {
    const { status, json } = await ask(body)
    expect({ status, json }).toEqual({
      status: 400,
      json: { errorCode: 'VALIDATION_ERROR', message: expect.any(String), detail },
    })
    expect(errorFormBSchema.safeParse(json).success).toBe(true)
  })

  it('another content type returns 415 in form B', async () => {
    const { status, json } = await ask('email=a@example.com', { 'content-type': 'application/x-www-form-urlencoded' })
    expect({ status, json }).toMatchObject({ status: 415, json: { errorCode: 'UNSUPPORTED_MEDIA_TYPE', detail: [] } })
  })
})
