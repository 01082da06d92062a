import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GdnError } from '../../src/core/errors.ts'
import { redactHeaders, redactText } from '../../src/core/redact.ts'
import { knowKeysIn, redactBytes, redactSecrets, Secret } from '../../src/core/secret.ts'

const KEY = `sk/live+"canary"&${'7f'.repeat(8)}`
const bytes = Buffer.from(KEY)

describe('a secret of this process is blotted out of a text', () => {
  const key = new Secret(KEY)

  test.each<[string, string]>([
    ['as it is', KEY],
    ['in JSON', JSON.stringify({ key: KEY })],
    ['in HTML', 'sk/live+&quot;canary&quot;&amp;7f7f7f7f7f7f7f7f'],
    ['in a query', `?q=${encodeURIComponent(KEY)}`],
    ['in a form', new URLSearchParams({ q: KEY }).toString()],
    ['in hexadecimal', bytes.toString('hex')],
    ['in upper-case hexadecimal', bytes.toString('hex').toUpperCase()],
    ['in base64', bytes.toString('base64')],
    ['in base64 after a byte', Buffer.from(`:${KEY}!`).toString('base64')],
    ['in base64 after two bytes', Buffer.from(`id${KEY}!`).toString('base64')],
    ['in base64url', Buffer.from(`u:${KEY}`).toString('base64url')],
    ['backwards', [...KEY].reverse().join('')],
  ])('%s', (_how, text) => {
    const clean = redactSecrets(`before ${text} after`)
    expect(clean).toMatch(/^before .*\[redacted\].* after$/)
    // At most the characters of base64 that it shares with its neighbours are left.
    expect(clean.length).toBeLessThan('before  after'.length + '{"key":"[redacted]"}'.length + 8)
    expect(Buffer.from(redactBytes(Buffer.from(text))).toString()).toContain('[redacted]')
  })

  test('an answer of JSON that spells it with escapes is written anew without it', () => {
    const escaped = [...KEY].map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
    const clean = Buffer.from(redactBytes(Buffer.from(`{"said":["${escaped}"],"n":1}`))).toString()
    expect(JSON.parse(clean)).toEqual({ said: ['[redacted]'], n: 1 })
  })

  test('bytes without it stay the same bytes, whatever they are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (random) => {
        expect(Buffer.from(redactBytes(random)).equals(Buffer.from(random))).toBe(true)
      }),
    )
  })

  test('what is too short to be told from a word is left', () => {
    new Secret('polygon')
    expect(redactSecrets('minted on polygon')).toBe('minted on polygon')
  })

  test('a server forgets the keys that it is asked with', () => {
    new Secret('key-of-a-caller', { known: false })
    expect(redactSecrets('key-of-a-caller')).toBe('key-of-a-caller')
  })

  test('the key in the address of a provider, in its path or its query, is one', () => {
    knowKeysIn('https://polygon.example/v3/0123456789abcdef0123?token=fedcba9876543210fedc')
    expect(redactSecrets('POST /v3/0123456789abcdef0123?x=fedcba9876543210fedc: 403')).toBe(
      'POST /v3/[redacted]?x=[redacted]: 403',
    )
  })

  test('an error can hold it neither in its message nor in its hint', () => {
    const error = new GdnError('refused', `no such key ${KEY}`, { hint: `is ${KEY} yours?` })
    expect([error.message, error.hint, String(error)].join()).not.toContain('canary')
  })

  test('one that is disclosed, because that was asked for, is shown', () => {
    expect(redactSecrets(`key ${key.disclose()}`)).toBe(`key ${KEY}`)
  })
})

describe('what looks like a secret is blotted out of messages, logs and --debug', () => {
  test.each([
    [
      '{"wallet":{"address":"0x1","private_key":"0xdeadbeef"}}',
      '{"wallet":{"address":"0x1","private_key":"[redacted]"}}',
    ],
    ['{"privateKey": "a\\"b"}', '{"privateKey": "[redacted]"}'],
    ['{"log":"{\\"password\\":\\"hunter22\\"}"}', '{"log":"{\\"password\\":\\"[redacted]\\"}"}'],
    [
      'https://h/v1/wallet/create?expiry=1&signature=c0ffee&x=1',
      'https://h/v1/wallet/create?expiry=1&signature=[redacted]&x=1',
    ],
    [
      'https://b/a.png?X-Amz-Credential=AK&X-Amz-Signature=1f',
      'https://b/a.png?X-Amz-Credential=[redacted]&X-Amz-Signature=[redacted]',
    ],
    ['postgres://gdn:hunter22@db:5432/gdn', 'postgres://[redacted]@db:5432/gdn'],
    ['http://user:p%40ss@proxy:3128', 'http://[redacted]@proxy:3128'],
    ['Authorization: Bearer abcdefghijklmnop.qrs-tuv', 'Authorization: Bearer [redacted]'],
    [`no key gdn_${'k'.repeat(43)} here`, 'no key [redacted] here'],
  ])('%j', (text, clean) => {
    expect(redactText(text)).toBe(clean)
  })

  test.each([
    '{"nft_gdn_id":"a","token_id":"1","status":"deployed"}',
    'https://api.example.com/api/v1/getnfts?page=2',
    'see a@example.com, ipfs://bafy/1.json and 10:30',
    'the API key is not permitted to use getnfts',
  ])('%j stays', (text) => {
    expect(redactText(text)).toBe(text)
  })

  test('headers by their names', () => {
    const names = ['x-api-key', 'Authorization', 'proxy-authorization', 'cookie', 'set-cookie', 'x-amz-security-token']
    const shown = redactHeaders(Object.fromEntries([...names, 'x-request-id', 'idempotency-key'].map((n) => [n, 'v'])))
    expect(names.map((name) => shown[name])).toEqual(names.map(() => '[redacted]'))
    expect(shown).toMatchObject({ 'x-request-id': 'v', 'idempotency-key': 'v' })
  })

  test('a megabyte that nearly looks like one takes no time', () => {
    const start = performance.now()
    for (const piece of ['a.', 'a_', '"a-', '\\"', '://', '?key', 'gdn_', 'Bearer ']) redactText(piece.repeat(250_000))
    expect(performance.now() - start).toBeLessThan(5000)
  })
})
