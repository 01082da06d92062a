/** @module-tag slow */
import { describe, expect, it } from 'vitest'
import type { Answer } from '../helpers/backend.ts'
import { NON_EMPTY, startService, without } from './service.ts'

const service = startService()
const EMAIL = 'artist+art@example.com'
const BODY = { email: EMAIL, timeout: 10 }

/** Error form B, with one detail for that location. */
function formB(...loc: string[]) {
  return {
    errorCode: 'VALIDATION_ERROR',
    message: NON_EMPTY,
    detail: [expect.objectContaining({ loc, msg: NON_EMPTY, type: NON_EMPTY })],
  }
}

const signedUrl = async (body: object = BODY): Promise<URL> =>
  new URL((await service.ask('getpresignedurl', body)).response.url)

async function generate(url: URL | string): Promise<Pick<Answer, 'status' | 'json'>> {
  const response = await fetch(url, { method: 'POST' })
  return { status: response.status, json: await response.json() }
}

describe('POST /api/v1/getpresignedurl', () => {
  it.each(['', '/'])(
    'returns request (echo of email and timeout) and response, with the path ending in "%s"',
    async (end) => {
      const { status, json } = await service.post(`getpresignedurl${end}`, BODY)
      expect(status).toBe(200)
      expect(json).toEqual({ request: BODY, response: { url: expect.stringMatching(/^https?:\/\//) } })
    },
  )

  // The reference requires timeout as well, and doesn't show what happens without it. This backend uses 60 minutes.
  it('requires email, else returns 400 in form B with the location', async () => {
    const { status, json } = await service.post('getpresignedurl', without(BODY, 'email'))
    expect({ status, json }).toEqual({ status: 400, json: formB('body', 'email') })
  })

  it.each([1, 2, 10_079, 10_080])('returns a signed URL that is valid for a timeout of %i minutes', async (timeout) => {
    const { searchParams } = await signedUrl({ email: EMAIL, timeout })
    expect(Number(searchParams.get('expiry')) - Number(searchParams.get('issued_at'))).toBe(timeout * 60)
  })

  it.each([
    [10_081, { limit_value: 10_080 }],
    [1_000_000, { limit_value: 10_080 }],
    [0, { limit_value: 1 }],
    [-1, { limit_value: 1 }],
  ])('rejects a timeout of %i, which is not from 1 to 10080, with the limit_value in ctx', async (timeout, ctx) => {
    const { status, json } = await service.post('getpresignedurl', { email: EMAIL, timeout })
    expect({ status, json }).toEqual({ status: 400, json: formB('body', 'timeout') })
    expect(json.detail[0].ctx).toEqual(ctx)
  })

  it.each([1.5, '10', null, true, [10]])('requires a positive integer as timeout, not %j', async (timeout) => {
    const { status, json } = await service.post('getpresignedurl', { email: EMAIL, timeout })
    expect({ status, json }).toEqual({ status: 400, json: formB('body', 'timeout') })
  })

  it.each(['artist', '', 1, null])('requires an e-mail address as email, not %j', async (email) => {
    const { status, json } = await service.post('getpresignedurl', { ...BODY, email })
    expect({ status, json }).toEqual({ status: 400, json: formB('body', 'email') })
  })

  it('returns form B for invalid JSON', async () => {
    const { status, json } = await service.post('getpresignedurl', '{')
    expect({ status, json }).toEqual({ status: 400, json: formB('body') })
  })

  it('returns a signed URL with the path /v1/wallet/create and query parameters expiry … signature', async () => {
    const url = await signedUrl()
    expect(url.pathname).toBe('/v1/wallet/create')
    expect(Object.fromEntries(url.searchParams)).toEqual({
      expiry: expect.stringMatching(/^\d+$/),
      issued_at: expect.stringMatching(/^\d+$/),
      action: 'generate_wallet',
      issuer: EMAIL,
      signature: NON_EMPTY,
    })
    expect(url.search).toContain('issuer=artist%2Bart%40example.com')
  })
})

describe('POST {signed URL}', () => {
  it('needs no body, and returns request (without the value of the signature) and wallet', async () => {
    const url = await signedUrl()
    const { status, json } = await generate(url)
    expect(status).toBe(200)
    expect(Object.keys(json).sort()).toEqual(['request', 'wallet'])
    expect(json.request).toEqual({
      expiry: Number(url.searchParams.get('expiry')),
      issued_at: Number(url.searchParams.get('issued_at')),
      action: 'generate_wallet',
      issuer: EMAIL,
      signature: '',
    })
    expect(JSON.stringify(json)).not.toContain(url.searchParams.get('signature') ?? '')
    expect(json.wallet).toEqual({
      address: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
      private_key: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    })
  })

  it('generates a new wallet for each POST to a new URL', async () => {
    const wallets = [await generate(await signedUrl()), await generate(await signedUrl())]
    expect(new Set(wallets.map(({ json }) => json.wallet.private_key)).size).toBe(2)
  })

  it.each(['expiry', 'issued_at', 'action', 'issuer', 'signature'])(
    'rejects a URL whose %s was changed or removed',
    async (name) => {
      const changed = await signedUrl()
      changed.searchParams.set(name, `${changed.searchParams.get(name)}0`)
      const cut = await signedUrl()
      cut.searchParams.delete(name)
      for (const url of [changed, cut]) {
        const { status, json } = await generate(url)
        expect(status).toBeGreaterThanOrEqual(400)
        expect(status).toBeLessThan(500)
        expect(json).toMatchObject({ errorCode: NON_EMPTY, message: NON_EMPTY, detail: expect.any(Array) })
        expect(json).not.toHaveProperty('wallet')
      }
    },
  )
})

describe('POST {signed URL} after it expires', () => {
  let now = Date.now()
  const later = startService({ now: () => now })

  it('generates nothing', async () => {
    const { response } = await later.ask('getpresignedurl', { email: EMAIL, timeout: 1 })
    now += 59_000
    expect((await generate(response.url)).status).toBe(200)
    now += 2000
    const { status, json } = await generate(response.url)
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
    expect(json).toMatchObject({ errorCode: NON_EMPTY, message: NON_EMPTY, detail: expect.any(Array) })
    expect(json).not.toHaveProperty('wallet')
  })
})
