import { describe, expect, it } from 'vitest'
import { GIVE_UP_AFTER_MS, pauseMs, retryMs, webhookStatus } from '../../../src/server/pipeline/webhooks/schedule.ts'

const middle = () => 0.5

describe('an event is retried', () => {
  it.each([
    [1, 5],
    [2, 30],
    [3, 120],
    [4, 600],
    [5, 1800],
    [6, 3600],
    [9, 8 * 3600],
    [50, 8 * 3600],
  ])('after attempt %i in about %i seconds', (attempts, seconds) => {
    expect(retryMs(attempts, middle)).toBe(seconds * 1000)
    expect(retryMs(attempts, () => 0)).toBe(seconds * 750)
    expect(retryMs(attempts, () => 1)).toBe(seconds * 1250)
  })

  it('about twenty times in three days', () => {
    let at = 0
    let attempts = 1
    for (; at < GIVE_UP_AFTER_MS; attempts++) at += retryMs(attempts, middle)
    expect(GIVE_UP_AFTER_MS).toBe(3 * 24 * 3_600_000)
    expect(attempts).toBeGreaterThan(12)
    expect(attempts).toBeLessThan(25)
  })
})

describe('a failing webhook is paused', () => {
  it.each([
    [1, 0],
    [4, 0],
    [5, 2],
    [6, 4],
    [8, 16],
    [14, 600],
    [10_000, 600],
  ])('after %i consecutive failures for about %i seconds', (failures, seconds) => {
    expect(pauseMs(failures, middle)).toBe(seconds * 1000)
  })
})

it.each([
  ['active', null, 'active'],
  ['active', 4 * 60_000, 'active'],
  ['active', 5 * 60_000, 'failing'],
  ['disabled', null, 'disabled'],
  ['disabled', 9 * 60_000, 'disabled'],
] as const)('a webhook that is %s and failing for %s ms is shown as %s', (status, failingFor, shownStatus) => {
  const now = 1_700_000_000_000
  expect(webhookStatus({ status, failing_since: failingFor === null ? null : now - failingFor }, now)).toBe(shownStatus)
})
