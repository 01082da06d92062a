import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { GdnError } from '../../src/core/errors.ts'
import { redactHeaders, redactText } from '../../src/core/redact.ts'
import { findKeysInUrl, redactBytes, redactSecrets, rememberKeysInUrl, Secret } from '../../src/core/secret.ts'

const KEY = `sk/live+"canary"&${'7f'.repeat(8)}`
const bytes = Buffer.from(KEY)

describe('redacts a secret of this process', () => {
  let key: Secret
  beforeEach(() => {
    key = new Secret(KEY)
  })
  // The spellings of a secret are cached. Each test computes its own, so that it fails alone if one is missing.
  afterEach(() => {
    key.disclose()
  })

  test.each<[string, string]>([
    ['as plain text', KEY],
    ['in JSON', JSON.stringify({ key: KEY })],
    ['in JSON, within a longer text', JSON.stringify({ key: `${KEY}.` })],
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
    ['percent-encoded byte by byte', bytes.toString('hex').replace(/../g, '%$&')],
    ['as HTML character references', bytes.toString('hex').replace(/../g, '&#x$&;')],
  ])('%s', (_how, text) => {
    const clean = redactSecrets(`before ${text} after`)
    expect(clean).toMatch(/^before .*\[redacted\].* after$/)
    expect(clean).not.toContain('canary')
    // Base64 may leave the characters that the secret shares with the adjacent bytes.
    expect(clean.length).toBeLessThan('before  after'.length + '{"key":"[redacted]"}'.length + 8)
    expect(Buffer.from(redactBytes(Buffer.from(text))).toString()).toContain('[redacted]')
  })

  test('redacts a secret with escapes in JSON, and serializes the JSON again', () => {
    const escaped = [...KEY].map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
    const clean = Buffer.from(redactBytes(Buffer.from(`{"said":["${escaped}"],"n":1}`))).toString()
    expect(JSON.parse(clean)).toEqual({ said: ['[redacted]'], n: 1 })
  })

  test('redacts a secret whose slashes JSON escapes, in values and in names', () => {
    const escaped = new Secret('ab/cd+ef/gh+ij/kl+mn/op+qr=').reveal().replaceAll('/', '\\/')
    const clean = (json: string) => Buffer.from(redactBytes(Buffer.from(json))).toString()
    expect(JSON.parse(clean(`{"key":"${escaped}","n":1}`))).toEqual({ key: '[redacted]', n: 1 })
    expect(JSON.parse(clean(`{"${escaped}":1}`))).toEqual({ '[redacted]': 1 })
  })

  test('redacts the long parts of a secret that is escaped several times, forwards and backwards', () => {
    const escaped = JSON.stringify(JSON.stringify({ key: KEY }))
    expect(redactSecrets(escaped)).not.toContain('7f7f')
    expect(redactSecrets([...escaped].reverse().join(''))).not.toContain('f7f7')
  })

  test('redacts bytes with one of several secrets', () => {
    const other = new Secret('another secret')
    try {
      expect(Buffer.from(redactBytes(bytes)).toString()).toBe('[redacted]')
      expect(Buffer.from(redactBytes(Buffer.from(other.reveal()))).toString()).toBe('[redacted]')
    } finally {
      other.disclose()
    }
  })

  test('leaves JSON with escapes, but without a secret, unchanged', () => {
    const json = Buffer.from('{ "said": "line\\n" }')
    expect(redactBytes(json)).toEqual(json)
  })

  test('leaves bytes without a secret unchanged', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (random) => {
        expect(Buffer.from(redactBytes(random)).equals(Buffer.from(random))).toBe(true)
      }),
    )
  })

  test('redacts a secret of 8 characters', () => {
    const short = new Secret('hunter22')
    expect(redactSecrets('password hunter22')).toBe('password [redacted]')
    short.disclose()
  })

  test('remembers the newest 256 secrets', () => {
    const secrets = Array.from({ length: 257 }, (_, i) => new Secret(`secret number ${i}.`))
    try {
      expect(redactSecrets('secret number 1.')).toBe('[redacted]')
      expect(redactSecrets('secret number 0.')).toBe('secret number 0.')
    } finally {
      for (const secret of secrets) secret.disclose()
    }
  })

  test('leaves a value that is too short to be distinguished from a word', () => {
    new Secret('polygon')
    expect(redactSecrets('minted on polygon')).toBe('minted on polygon')
  })

  test('does not keep the keys of callers on a server', () => {
    new Secret('key-of-a-caller', { known: false })
    expect(redactSecrets('key-of-a-caller')).toBe('key-of-a-caller')
  })

  test("redacts the key in the path or query of a provider's URL", () => {
    rememberKeysInUrl('https://polygon.example/v3/0123456789abcdef0123?token=fedcba9876543210fedc')
    expect(redactSecrets('POST /v3/0123456789abcdef0123?x=fedcba9876543210fedc: 403')).toBe(
      'POST /v3/[redacted]?x=[redacted]: 403',
    )
  })

  test('finds no key in an address that is not a URL', () => {
    expect(findKeysInUrl('polygon/0123456789abcdef0123')).toEqual([])
  })

  test('redacts the message and the hint of an error', () => {
    const error = new GdnError('refused', `no such key ${KEY}`, { hint: `is ${KEY} yours?` })
    expect([error.message, error.hint, String(error)].join()).not.toContain('canary')
  })

  test('shows a secret that is disclosed on request', () => {
    expect(redactSecrets(`key ${key.disclose()}`)).toBe(`key ${KEY}`)
  })
})

describe('redacts what looks like a secret in messages, logs and --debug', () => {
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
    ['the query signature=c0ffee&expiry=1', 'the query signature=[redacted]&expiry=1'],
    [`signed with whsec_${'k'.repeat(43)} since then`, 'signed with [redacted] since then'],
  ])('%j', (text, clean) => {
    expect(redactText(text)).toBe(clean)
  })

  test.each([
    '{"nft_gdn_id":"a","token_id":"1","status":"deployed"}',
    'https://api.example.com/api/v1/getnfts?page=2',
    'see a@example.com, ipfs://bafy/1.json and 10:30',
    'the API key is not permitted to use getnfts',
  ])('leaves %j unchanged', (text) => {
    expect(redactText(text)).toBe(text)
  })

  test('redacts headers by their names', () => {
    const names = ['x-api-key', 'Authorization', 'proxy-authorization', 'cookie', 'set-cookie', 'x-amz-security-token']
    const shown = redactHeaders(Object.fromEntries([...names, 'x-request-id', 'idempotency-key'].map((n) => [n, 'v'])))
    expect(names.map((name) => shown[name])).toEqual(names.map(() => '[redacted]'))
    expect(shown).toMatchObject({ 'x-request-id': 'v', 'idempotency-key': 'v' })
  })

  test('takes little time for a megabyte of text that resembles secrets', () => {
    const start = process.cpuUsage()
    for (const piece of ['a.', 'a_', '"a-', '\\"', '://', '?key', 'gdn_', 'Bearer ']) redactText(piece.repeat(250_000))
    expect(process.cpuUsage(start).user / 1000).toBeLessThan(20_000)
  })
})
