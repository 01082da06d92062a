import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { newSigningSecret, signWebhookBody } from '../../../src/server/pipeline/webhooks/signature.ts'
import { isSigned } from '../../helpers/webhook-receiver.ts'

const sha256 = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest()

/** HMAC as defined in RFC 2104, based only on the hash function. */
function hmac(key: string, text: string): string {
  const raw = Buffer.from(key)
  const block = Buffer.alloc(64)
  ;(raw.length > 64 ? sha256(raw) : raw).copy(block)
  const pad = (byte: number) => block.map((own) => own ^ byte)
  return sha256(pad(0x5c), sha256(pad(0x36), Buffer.from(text))).toString('hex')
}

describe('the signature', () => {
  // Computed with `printf '%s' "$t.$body" | openssl dgst -sha256 -hmac "$secret"`.
  it.each([
    [
      'whsec_test',
      '{"id":"evt_1"}',
      1_700_000_000_999,
      't=1700000000,v1=c89214b5b5da833daed6f0b8c5bb6bd58cea9022bd80ccc78230f3942d632925',
    ],
    [
      'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8',
      '{"title":"Grüße 🎨 \\u0000"}',
      1_790_000_000_000,
      't=1790000000,v1=ce4e019e9e5844b3a0aa09b98f32dcec71109a7f7e5cad777041f3b00d5a7f42',
    ],
  ])('with %s of %s matches OpenSSL', (secret, body, now, signature) => {
    expect(signWebhookBody(secret, body, now)).toBe(signature)
  })

  it('the signature of any body is HMAC-SHA-256 of the time, a dot and the body', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ minLength: 1 }), fc.nat(4_000_000_000), (body, key, t) => {
        // JSON text has no lone surrogates.
        fc.pre(body.isWellFormed() && key.isWellFormed())
        expect(signWebhookBody(key, body, t * 1000)).toBe(`t=${t},v1=${hmac(key, `${t}.${body}`)}`)
      }),
    )
  })

  it('passes the documented check, but not with another body, secret or time', () => {
    const now = Date.now()
    const headers = { 'gdn-signature': signWebhookBody('whsec_a', '{}', now) }
    expect(isSigned('whsec_a', { headers, body: '{}' }, now)).toBe(true)
    expect(isSigned('whsec_a', { headers, body: '{ }' }, now)).toBe(false)
    expect(isSigned('whsec_b', { headers, body: '{}' }, now)).toBe(false)
    expect(isSigned('whsec_a', { headers, body: '{}' }, now + 301_000)).toBe(false)
    expect(isSigned('whsec_a', { headers: { 'gdn-signature': 't=1,v1=' }, body: '{}' }, now)).toBe(false)
  })
})

it('generates a signing secret of 256 random bits after whsec_', () => {
  const secrets = Array.from({ length: 50 }, () => newSigningSecret().reveal())
  expect(new Set(secrets).size).toBe(50)
  for (const secret of secrets) expect(secret).toMatch(/^whsec_[\w-]{43}$/)
})
