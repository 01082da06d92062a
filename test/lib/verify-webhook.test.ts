import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { verifyWebhook, type WebhookHeaders } from '../../src/lib/index.ts'
import { signWebhookBody } from '../../src/server/pipeline/webhooks/signature.ts'

const NOW = 1_790_000_000_000
const SECRET = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8'
const BODY = '{"title":"Grüße 🎨"}'
const SIGNATURE = signWebhookBody(SECRET, BODY, NOW)

beforeEach(() => void vi.useFakeTimers({ now: NOW, toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

describe('verifyWebhook', () => {
  test.each<[string, WebhookHeaders]>([
    ['of node:http', { 'gdn-signature': SIGNATURE }],
    ['in any case', { 'Gdn-Signature': SIGNATURE }],
    ['as a list of one', { 'gdn-signature': [SIGNATURE] }],
    ['of fetch', new Headers({ 'Gdn-Signature': SIGNATURE })],
  ])('accepts a signed body with headers %s, as text and as bytes', (_, headers) => {
    expect(verifyWebhook(BODY, headers, SECRET)).toBe(true)
    expect(verifyWebhook(Buffer.from(BODY), headers, SECRET)).toBe(true)
  })

  test('accepts what the backend signs, for any body and secret', () => {
    const text = fc.string({ unit: 'binary' }).filter((one) => one.isWellFormed())
    fc.assert(
      fc.property(
        text,
        text.filter((one) => one !== ''),
        (body, secret) => {
          expect(verifyWebhook(body, { 'gdn-signature': signWebhookBody(secret, body, NOW) }, secret)).toBe(true)
        },
      ),
    )
  })

  test.each<[string, string, WebhookHeaders, string]>([
    ['another body', `${BODY} `, { 'gdn-signature': SIGNATURE }, SECRET],
    ['another secret', BODY, { 'gdn-signature': SIGNATURE }, `${SECRET}A`],
    ['an empty secret', BODY, { 'gdn-signature': signWebhookBody('', BODY, NOW) }, ''],
    ['no signature', BODY, {}, SECRET],
    ['two signatures', BODY, { 'gdn-signature': [SIGNATURE, SIGNATURE] }, SECRET],
    ['a signature in two spellings', BODY, { 'gdn-signature': SIGNATURE, 'GDN-Signature': SIGNATURE }, SECRET],
    ['a shorter signature', BODY, { 'gdn-signature': SIGNATURE.slice(0, -2) }, SECRET],
    ['more after the signature', BODY, { 'gdn-signature': `${SIGNATURE}00` }, SECRET],
    ['a time that is not a number', BODY, { 'gdn-signature': SIGNATURE.replace(/t=\d+/, 't=NaN') }, SECRET],
    ['a time 5 minutes ago', BODY, { 'gdn-signature': signWebhookBody(SECRET, BODY, NOW - 301_000) }, SECRET],
    ['a time in 5 minutes', BODY, { 'gdn-signature': signWebhookBody(SECRET, BODY, NOW + 301_000) }, SECRET],
  ])('rejects %s', (_, body, headers, secret) => {
    expect(verifyWebhook(body, headers, secret)).toBe(false)
  })

  test('returns false for any other arguments, and never throws', () => {
    const verify = verifyWebhook as (...values: unknown[]) => boolean
    const hostile = fc.constantFrom(
      new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error('no')
          },
        },
      ),
      {
        get 'gdn-signature'() {
          throw new Error('no')
        },
      },
      {
        'gdn-signature': {
          toString: () => {
            throw new Error('no')
          },
        },
      },
      { 'gdn-signature': SIGNATURE },
      Object.create(null),
      Symbol('no'),
    )
    const anything = fc.oneof(fc.anything({ withBigInt: true, withTypedArray: true, withNullPrototype: true }), hostile)
    fc.assert(
      fc.property(anything, anything, anything, (body, headers, secret) => {
        expect(verify(body, headers, secret)).toBe(false)
      }),
    )
    expect(verify()).toBe(false)
  })
})
