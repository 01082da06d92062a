import { expect, test } from 'vitest'
import { startLoop } from '../../../src/server/pipeline/loop.ts'

const LOG = { info() {}, warn() {}, error() {}, debug() {} }

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
    LOG,
  )
  await expect.poll(() => fired).toBe(true)
  await loop.stop()
  expect(starved).toBe(false)
})
