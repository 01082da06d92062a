import { afterEach, expect, test, vi } from 'vitest'
import type { OutStream } from '../../../src/cli/io/out-stream.ts'
import { spinner } from '../../../src/cli/io/spinner.ts'

afterEach(() => {
  vi.useRealTimers()
})

test('a wait of 10 seconds shows its time, which an update keeps', () => {
  vi.useFakeTimers()
  let written = ''
  const move = () => true
  const stderr = {
    ...{ isTTY: true, columns: 80, cursorTo: move, clearLine: move, moveCursor: move },
    write(text: string) {
      written += text
      return true
    },
  } as unknown as OutStream
  /** The last frame after a time. */
  const frameAfter = (ms: number) => {
    written = ''
    vi.advanceTimersByTime(ms)
    return written
  }
  const progress = spinner('Waiting for the commitment', stderr, false)
  expect(frameAfter(9_000)).not.toMatch(/\d:\d\d/)
  expect(frameAfter(3_500)).toContain('Waiting for the commitment 0:12')
  progress.update('Waiting for the commitment: 51 blocks left')
  expect(frameAfter(60_000)).toContain('Waiting for the commitment: 51 blocks left 1:12')
  progress.stop()
})
