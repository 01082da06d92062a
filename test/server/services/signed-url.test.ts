import { describe, expect, it, onTestFinished } from 'vitest'
import { Secret } from '../../../src/core/secret.ts'
import { readSignedUrl, signUrl } from '../../../src/server/services/signed-url.ts'
import { forgetSignedUrls, isSignedUrlUsed, useSignedUrl } from '../../../src/server/store/signed-urls.ts'
import { freshDataDir } from '../../helpers/backend.ts'
import { openTestStore } from '../../helpers/test-database.ts'

const SECRET = new Secret('ab'.repeat(32), { known: false })
const URL_OF = { origin: 'https://nft.example', issuer: "o'hara+art@example.com", issuedAt: 1_800_000_000 }

const signed = (expiry = 1_800_003_600) => signUrl(SECRET, { ...URL_OF, expiry }).split('?')[1] ?? ''
const last = (query: string, digits: string) => query.slice(0, -digits.length) + digits

it('reads what it signed', () => {
  expect(readSignedUrl(SECRET, signed())).toEqual({
    ok: true,
    claims: { expiry: 1_800_003_600, issued_at: 1_800_000_000, action: 'generate_wallet', issuer: URL_OF.issuer },
    signature: expect.stringMatching(/^[0-9a-f]{96}$/),
  })
  expect(readSignedUrl(SECRET, signed(0))).toMatchObject({ ok: true, claims: { expiry: 0 } })
})

it('signs two URLs of the same second differently', () => {
  expect(signed()).not.toBe(signed())
})

it.each<[string, (query: string) => string]>([
  ['a later expiry', (query) => query.replace('expiry=1800003600', 'expiry=1900003600')],
  ['an earlier issue', (query) => query.replace('issued_at=1800000000', 'issued_at=1700000000')],
  ['another action', (query) => query.replace('generate_wallet', 'delete_wallet')],
  ['another issuer', (query) => query.replace('art', 'eve')],
  ['another order', (query) => query.split('&').reverse().join('&')],
  ['another encoding', (query) => query.replace('%27', "'")],
  ['another signature', (query) => last(query, query.endsWith('00') ? '11' : '00')],
  ['a shorter signature', (query) => query.slice(0, -1)],
  ['a longer signature', (query) => `${query}0`],
])('rejects a URL with %s', (_what, change) => {
  const query = signed()
  expect(change(query)).not.toBe(query)
  expect(readSignedUrl(SECRET, change(query))).toEqual({ ok: false, reason: 'tampered' })
})

it('rejects a URL that another secret signed', () => {
  const other = new Secret('cd'.repeat(32), { known: false })
  expect(readSignedUrl(other, signed())).toEqual({ ok: false, reason: 'tampered' })
})

describe('names what is wrong with a URL', () => {
  const NAMES = ['expiry', 'issued_at', 'action', 'issuer', 'signature']
  const withExpiry = (expiry: string) => signed().replace(/expiry=\d+/, `expiry=${expiry}`)

  it.each<[string, string, string[]]>([
    ['without parameters', '', NAMES.map((name) => `${name} missing`)],
    ['with an unknown parameter', `${signed()}&x=1`, ['x unknown']],
    ['with an unknown parameter without a value', `${signed()}&x`, ['x unknown']],
    ['with a repeated parameter', `${signed()}&expiry=1`, ['expiry duplicate']],
    ['with an empty value', signed().replace(/issuer=[^&]*/, 'issuer='), ['issuer empty']],
    ['without a value', signed().replace(/expiry=\d+/, 'expiry'), ['expiry empty']],
    ['with a value that is not encoded', signed().replace(/issuer=[^&]*/, 'issuer=%zz'), ['issuer custom']],
    ['with a name that is not encoded', `${signed()}&%zz=1`, [' custom']],
    ...['01', '1.5', '-1', '1e9', ' 1', '1 ', '1'.repeat(16)].map((expiry): [string, string, string[]] => [
      `that expires at "${expiry}"`,
      withExpiry(encodeURIComponent(expiry)),
      ['expiry invalid_type'],
    ]),
    ['with too many parameters', `${signed()}&${'x'.repeat(4_096)}`, [' custom']],
    ['with 11 unknown parameters', `${signed()}${'&x=1'.repeat(11)}`, Array(10).fill('x unknown')],
  ])('%s', (_what, query, expected) => {
    const read = readSignedUrl(SECRET, query)
    const issues = 'issues' in read ? read.issues : []
    expect(issues.map(({ field, code }) => `${field} ${code}`)).toEqual(expected)
    expect(issues.map(({ path }) => path)).toEqual(issues.map(({ field }) => (field === '' ? [] : [field])))
    expect(issues.filter(({ missing }) => missing)).toHaveLength(query === '' ? 5 : 0)
  })
})

it('is used once, and forgotten long after', async () => {
  const dir = await freshDataDir()
  onTestFinished(dir.remove)
  const store = await openTestStore(dir.path)
  onTestFinished(() => store.close())
  const url = { signatureHash: 'a', expiresAt: 10 }
  expect(await isSignedUrlUsed(store.db, 'a')).toBe(false)
  expect([await useSignedUrl(store.db, url), await useSignedUrl(store.db, url)]).toEqual([true, false])
  await forgetSignedUrls(store.db, 10)
  expect([await isSignedUrlUsed(store.db, 'a'), await isSignedUrlUsed(store.db, 'b')]).toEqual([true, false])
  await forgetSignedUrls(store.db, 11)
  expect(await isSignedUrlUsed(store.db, 'a')).toBe(false)
})
