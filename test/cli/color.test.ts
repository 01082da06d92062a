import { expect, test } from 'vitest'
import { colorLevel } from '../../src/cli/io/color.ts'

test('decides on colors for each stream', () => {
  const terminal = { isTTY: true, getColorDepth: () => 8 }
  expect(colorLevel(terminal, {})).toBe(2)
  expect(colorLevel({}, {})).toBe(0)
  for (const stream of [terminal, {}]) {
    expect(colorLevel(stream, { FORCE_COLOR: '3' })).toBe(3)
    expect(colorLevel(stream, { FORCE_COLOR: '3', NO_COLOR: '1' })).toBe(0)
    expect(colorLevel(stream, { FORCE_COLOR: '1' }, true)).toBe(0)
  }
  expect(colorLevel(terminal, { NO_COLOR: '' })).toBe(2)
  expect(colorLevel(terminal, { TERM: 'dumb' })).toBe(0)
})
