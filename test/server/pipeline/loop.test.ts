import { expect, test } from 'vitest'
import { GdnError } from '../../../src/core/errors.ts'
import { startLoop } from '../../../src/server/pipeline/loop.ts'
import { SILENT_LOG } from '../../helpers/silent-log.ts'

test('yields to timers and requests between turns that never run out of work', async () => {
  let fired = false
  setTimeout(() => {
    fired = true
  }, 1)
  const start = performance.now()
  let starved = false
  const loop = startLoop(
    'busy',
    async () => {
      // Stops a loop that lets no timer fire.
      starved = performance.now() - start > 2000
      return fired || starved ? null : 0
    },
    SILENT_LOG,
  )
  await expect.poll(() => fired).toBe(true)
  await loop.stop()
  expect(starved).toBe(false)
})

test('logs once, and not as a failure, that it waits', async () => {
  const lines: [string, unknown][] = []
  const log = {
    ...SILENT_LOG,
    info: (_: object, message: string) => lines.push(['info', message]),
    error: (_: object, message: string) => lines.push(['error', message]),
  }
  let turns = 0
  const loop = startLoop(
    'mint',
    () => {
      turns += 1
      return Promise.reject(new GdnError('pending', `waiting for cheaper blocks, ${turns}`))
    },
    log,
  )
  await expect.poll(() => turns).toBeGreaterThan(2)
  await loop.stop()
  expect(lines).toEqual([['info', 'waiting for cheaper blocks, 1']])
})

test('logs a failure once while its reason stays the same, and every failure that nobody expected', async () => {
  const failures = [
    new GdnError('unreachable', '0.5 POL is missing'),
    new GdnError('unreachable', '0.6 POL is missing'),
    new GdnError('unreachable', 'no node responds'),
    new Error('a bug'),
    new Error('a bug'),
    null,
    new GdnError('unreachable', 'no node responds'),
  ]
  const lines: unknown[] = []
  let turns = 0
  const loop = startLoop(
    'mint',
    async () => {
      const failure = failures[turns++]
      if (failure) throw failure
      return turns > failures.length ? null : 0
    },
    { ...SILENT_LOG, error: (facts) => lines.push((facts as { error: string }).error) },
  )
  const waking = setInterval(() => loop.wake(), 5)
  await expect.poll(() => turns).toBeGreaterThan(failures.length)
  clearInterval(waking)
  await loop.stop()
  expect(lines).toEqual(['0.5 POL is missing', 'no node responds', 'a bug', 'a bug', 'no node responds'])
})
