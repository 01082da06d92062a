import { describe, expect, it } from 'vitest'
import { formatUtcTime, sleep } from '../../src/core/time.ts'

describe('accepted_date', () => {
  it.each([
    [0, '1970-01-01 00:00:00'],
    [Date.UTC(2026, 0, 31, 12, 0, 0, 999), '2026-01-31 12:00:00'],
    [Date.UTC(2024, 1, 29, 23, 59, 59), '2024-02-29 23:59:59'],
  ])('formats %i ms as %s in UTC, regardless of the time zone of the machine', (ms, text) => {
    expect(formatUtcTime(ms)).toBe(text)
  })
})

describe('sleep', () => {
  it('resolves after the given time', async () => {
    const start = performance.now()
    await sleep(30)
    expect(performance.now() - start).toBeGreaterThanOrEqual(28)
  })

  it('rejects at once with the reason of an abort, before or during the wait', async () => {
    const reason = new Error('stopped')
    await expect(sleep(60_000, AbortSignal.abort(reason))).rejects.toBe(reason)
    const controller = new AbortController()
    const sleeping = sleep(60_000, controller.signal)
    controller.abort(reason)
    await expect(sleeping).rejects.toBe(reason)
  })

  it('ignores an abort after its end', async () => {
    const controller = new AbortController()
    await sleep(1, controller.signal)
    controller.abort(new Error('late'))
  })
})
