import { expect, it } from 'vitest'
import { Secret } from '../../../src/core/secret.ts'
import { signUrl, verifySignedUrl } from '../../../src/server/services/signed-url.ts'
import { mutate, stopwatch } from '../../helpers/mutate.ts'
import { report, seededRandom } from '../../helpers/seed.ts'

const CASES = process.env.GDN_SOAK === '1' ? 1_000_000 : 20_000
const HANG_MS = 50

it('rejects every mutation of a signed URL', () => {
  const { random } = seededRandom('signed URLs')
  const secret = new Secret('5e'.repeat(32))
  const queries = ["o'hara+art@example.com", 'a@example.com'].map((issuer) => {
    const url = signUrl(secret, { origin: 'http://localhost', issuer, issuedAt: 1_795_000_000, expiry: 1_795_003_600 })
    return url.slice(url.indexOf('?') + 1)
  })
  const counts = { valid: 0, tampered: 0, malformed: 0 }
  let signedUrl = verifySignedUrl(secret, '')
  const watch = stopwatch((query: string) => {
    signedUrl = verifySignedUrl(secret, query)
  })
  for (let i = 0; i < CASES; i++) {
    const query = mutate(random, queries).toString(random() < 0.5 ? 'utf8' : 'latin1')
    watch.time(query)
    counts[signedUrl.ok ? 'valid' : signedUrl.reason]++
    if (signedUrl.ok !== queries.includes(query))
      throw new Error(`${JSON.stringify(query)} is ${JSON.stringify(signedUrl)}`)
    if (!signedUrl.ok && signedUrl.reason === 'malformed' && JSON.stringify(signedUrl.issues).length > 5000) {
      throw new Error(`the answer to ${JSON.stringify(query)} grows with it`)
    }
  }
  report({ 'signed URLs': CASES, ...counts, 'ms of the slowest': watch.again() })
  expect(watch.again()).toBeLessThan(HANG_MS)
  expect(Math.min(counts.valid, counts.tampered, counts.malformed)).toBeGreaterThan(CASES / 200)
})
