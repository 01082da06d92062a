import { expect, it } from 'vitest'
import { Secret } from '../../../src/core/secret.ts'
import { readSignedUrl, signUrl } from '../../../src/server/services/signed-url.ts'
import { mutate } from '../../helpers/mutate.ts'
import { report, seededRandom } from '../../helpers/seed.ts'

const CASES = process.env.GDN_SOAK === '1' ? 1_000_000 : 20_000
const HANG_MS = 1000

it('of a signed URL nothing but itself is valid, whatever is done to its bytes', () => {
  const { random } = seededRandom('signed URLs')
  const secret = new Secret('5e'.repeat(32))
  const queries = ["o'hara+art@example.com", 'a@example.com'].map((issuer) => {
    const url = signUrl(secret, { origin: 'http://localhost', issuer, issuedAt: 1_795_000_000, expiry: 1_795_003_600 })
    return url.slice(url.indexOf('?') + 1)
  })
  const counts = { valid: 0, tampered: 0, malformed: 0 }
  let slowest = 0
  for (let i = 0; i < CASES; i++) {
    const query = mutate(random, queries).toString(random() < 0.5 ? 'utf8' : 'latin1')
    const since = performance.now()
    const read = readSignedUrl(secret, query)
    slowest = Math.max(slowest, performance.now() - since)
    counts[read.ok ? 'valid' : read.fault]++
    if (read.ok !== queries.includes(query)) throw new Error(`${JSON.stringify(query)} is ${JSON.stringify(read)}`)
    if (!read.ok && read.fault === 'malformed' && JSON.stringify(read.issues).length > 5000) {
      throw new Error(`the answer to ${JSON.stringify(query)} grows with it`)
    }
  }
  report({ 'signed URLs': CASES, ...counts, 'slowest ms': Math.round(slowest) })
  expect(slowest).toBeLessThan(HANG_MS)
  expect(Math.min(counts.valid, counts.tampered, counts.malformed)).toBeGreaterThan(CASES / 200)
})
