import { describe, expect, it, onTestFinished } from 'vitest'
import { Secret } from '../../../src/core/secret.ts'
import { createWallet } from '../../../src/server/services/create-wallet.ts'
import { signUrl, verifySignedUrl } from '../../../src/server/services/signed-url.ts'
import { deleteExpiredSignedUrls, isSignedUrlUsed, markSignedUrlUsed } from '../../../src/server/store/signed-urls.ts'
import { freshDataDir } from '../../helpers/backend.ts'
import { openTestStore } from '../../helpers/test-database.ts'

const SECRET = new Secret('ab'.repeat(32), { known: false })
const URL_OF = { origin: 'https://nft.example', issuer: "o'hara+art@example.com", issuedAt: 1_800_000_000 }

const signed = (expiry = 1_800_003_600) => signUrl(SECRET, { ...URL_OF, expiry }).split('?')[1] ?? ''
const last = (query: string, digits: string) => query.slice(0, -digits.length) + digits

it('reads what it signed', () => {
  expect(verifySignedUrl(SECRET, signed())).toEqual({
    ok: true,
    claims: { expiry: 1_800_003_600, issued_at: 1_800_000_000, action: 'generate_wallet', issuer: URL_OF.issuer },
    signature: expect.stringMatching(/^[0-9a-f]{96}$/),
  })
  expect(verifySignedUrl(SECRET, signed(0))).toMatchObject({ ok: true, claims: { expiry: 0 } })
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
  expect(verifySignedUrl(SECRET, change(query))).toEqual({ ok: false, reason: 'tampered' })
})

it('rejects a URL that another secret signed', () => {
  const other = new Secret('cd'.repeat(32), { known: false })
  expect(verifySignedUrl(other, signed())).toEqual({ ok: false, reason: 'tampered' })
})

describe('lists the problems of a URL', () => {
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
    ['that is too long', `${signed()}&${'x'.repeat(4_096)}`, [' custom']],
    ['with 11 unknown parameters', `${signed()}${'&x=1'.repeat(11)}`, Array(10).fill('x unknown')],
  ])('%s', (_what, query, expected) => {
    const signedUrl = verifySignedUrl(SECRET, query)
    const issues = 'issues' in signedUrl ? signedUrl.issues : []
    expect(issues.map(({ field, code }) => `${field} ${code}`)).toEqual(expected)
    expect(issues.map(({ path }) => path)).toEqual(issues.map(({ field }) => (field === '' ? [] : [field])))
    expect(issues.filter(({ missing }) => missing)).toHaveLength(query === '' ? 5 : 0)
  })
})

describe('a wallet for a signed URL', () => {
  const ISSUED = 1_800_000_000_000
  const DAY = 24 * 3_600_000

  async function open() {
    const dir = await freshDataDir()
    const store = await openTestStore(dir.path)
    onTestFinished(async () => {
      await store.close()
      await dir.remove()
    })
    return store
  }

  async function start(singleUse: boolean) {
    const store = await open()
    return async (query: string, at: number) => {
      const now = () => at
      const { claims } = await createWallet(
        { store, now, signedUrls: { secret: SECRET, clock: now, singleUse } },
        query,
      )
      return claims.expiry
    }
  }

  it('is created from a minute before its issue to its last millisecond, and any number of times', async () => {
    const create = await start(false)
    const [query, end] = [signed(), ISSUED + 3_600_000]
    for (const at of [ISSUED - 60_000, ISSUED, end - 1]) expect(await create(query, at)).toBe(1_800_003_600)
    await expect(create(query, ISSUED - 60_001)).rejects.toThrow('is in the future')
    await expect(create(query, end)).rejects.toThrow('has expired')
  })

  it('is not created if the URL was changed', async () => {
    const create = await start(false)
    await expect(create(`${signed()}0`, ISSUED)).rejects.toThrow('does not match the URL')
    await expect(create('x', ISSUED)).rejects.toMatchObject({ status: 400 })
  })

  it('is created once for a single-use URL, also if the clock ran a day ahead', async () => {
    const create = await start(true)
    const [query, other] = [signed(), signed(1_800_000_000 + (2 * DAY) / 1000)]
    await create(query, ISSUED)
    await create(other, ISSUED + DAY)
    for (const each of [query, other]) await expect(create(each, ISSUED)).rejects.toThrow('was used before')
  })

  it('leaves no trace of a used URL long after its expiry', async () => {
    const store = await open()
    const used = (hash: string) => isSignedUrlUsed(store.db, hash)
    await markSignedUrlUsed(store.db, { signatureHash: 'a', expiresAt: 10 })
    await deleteExpiredSignedUrls(store.db, 10)
    expect([await used('a'), await used('b')]).toEqual([true, false])
    await deleteExpiredSignedUrls(store.db, 11)
    expect(await used('a')).toBe(false)
  })
})
