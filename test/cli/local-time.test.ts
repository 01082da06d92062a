import { afterEach, expect, test, vi } from 'vitest'
import { getnfthistory } from '../../src/api/endpoints/getnfthistory.ts'
import { formatTextAsLocalTime } from '../../src/cli/text/local-time.ts'
import { fakeApi, nft } from './fake-api.ts'
import { cli } from './harness.ts'

afterEach(() => vi.unstubAllEnvs())

test.each([
  ['UTC', '2026-01-31 12:00:00', '2026-01-31 12:00:00 UTC'],
  ['Europe/Berlin', '2026-01-31 12:00:00', '2026-01-31 13:00:00 CET'],
  ['Europe/Berlin', '2026-07-31T23:30:00.123Z', '2026-08-01 01:30:00 CEST'],
  ['America/New_York', '2026-01-31 12:00:00', '2026-01-31 07:00:00 EST'],
  ['Asia/Kolkata', '2026-01-31 12:00:00', '2026-01-31 17:30:00 GMT+5:30'],
  ['Nowhere/Town', '2026-01-31 12:00:00', '2026-01-31 12:00:00 UTC'],
  ['UTC', 'yesterday', 'yesterday'],
  ['UTC', '2026-13-45 12:00:00', '2026-13-45 12:00:00'],
])('in %s, %s is %s', (zone, given, shown) => {
  vi.stubEnv('TZ', zone)
  expect(formatTextAsLocalTime(given)).toBe(shown)
})

test('shows local times on a terminal, and UTC elsewhere', async () => {
  vi.stubEnv('TZ', 'Europe/Berlin')
  const { events } = getnfthistory.example.response
  const { url } = await fakeApi({
    getnfts: (requests) => ({
      body: { requests, nfts: [nft('one')] },
      headers: { 'nft-history-supported': 'yes' },
    }),
    getnfthistory: (requests) => ({ body: { requests, events, next_offset: null } }),
  })
  const argv = ['nft', 'history', 'one', '--base-url', url]
  const env = { GDN_API_KEY: 'k' }
  expect((await cli(argv, { env, tty: true })).stdout).toMatch(/^2026-01-31 13:00(:04)? CET /m)
  for (const more of [[], ['--json'], ['-o', 'csv']]) {
    expect((await cli([...argv, ...more], { env })).stdout).toContain('2026-01-31 12:00:04')
  }
  expect((await cli([...argv, '--json'], { env, tty: true })).stdout).toContain('"2026-01-31 12:00:04"')
})
