import { expect, test } from 'vitest'
import { colourLevel } from '../../src/cli/io/colour.ts'

test('each stream is judged for itself', () => {
  const terminal = { isTTY: true, getColorDepth: () => 8 }
  expect(colourLevel(terminal, {})).toBe(2)
  expect(colourLevel({}, {})).toBe(0)
  for (const stream of [terminal, {}]) {
    expect(colourLevel(stream, { FORCE_COLOR: '3' })).toBe(3)
    expect(colourLevel(stream, { FORCE_COLOR: '3', NO_COLOR: '1' })).toBe(0)
    expect(colourLevel(stream, { FORCE_COLOR: '1' }, true)).toBe(0)
  }
  expect(colourLevel(terminal, { NO_COLOR: '' })).toBe(2)
  expect(colourLevel(terminal, { TERM: 'dumb' })).toBe(0)
})
