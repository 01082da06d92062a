import { describe, expect, test } from 'vitest'
import { parseRateLimitPolicy } from '../../../src/client/announcements.ts'
import { ownLimit, sharedLimit } from '../../../src/client/pace/limit.ts'

describe('a server with a false rate limit', () => {
  test.each(['"getnfts";q=1;w=999999999', '"getnfts";q=0;w=1', '"getnfts";q=0;w=999999999'])(
    'delays requests by at most one minute: %s',
    (header) => {
      const told = parseRateLimitPolicy(header, 'getnfts')
      for (const limit of [ownLimit(null, told), sharedLimit(null, told)]) {
        expect(limit.windowMs).toBeLessThan(61_000)
        expect(limit.slots).toBeGreaterThanOrEqual(1)
      }
    },
  )

  test('does not keep the parser busy with its header', () => {
    const since = process.cpuUsage()
    expect(parseRateLimitPolicy('"\\'.repeat(100_000), 'getnfts')).toBeNull()
    expect(process.cpuUsage(since).user / 1000).toBeLessThan(1000)
  })
})

test('keeps to a lower rate of the user, however low', () => {
  expect(ownLimit(0.001, null).windowMs).toBeGreaterThan(900_000)
  expect(ownLimit(0.001, { perSecond: 2 }).windowMs).toBeGreaterThan(900_000)
})
