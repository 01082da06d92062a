import { expect, onTestFinished, test, vi } from 'vitest'
import { runUnlessStopped } from '../../../src/cli/commands/serving.ts'

test('work that does not respond is abandoned 2 s after a signal, or at once after a second one', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  for (const [isTwice, ms] of [
    [false, 2000],
    [true, 0],
  ] as const) {
    const [first, second] = [new AbortController(), new AbortController()]
    const since = Date.now()
    const working = runUnlessStopped({ signal: first.signal, again: second.signal }, new Promise(() => {}))
    first.abort()
    if (isTwice) second.abort()
    else await vi.advanceTimersByTimeAsync(2000)
    expect(await working).toBeNull()
    expect(Date.now() - since).toBe(ms)
  }
})
