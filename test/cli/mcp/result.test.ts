import { expect, test } from 'vitest'
import { withoutControls } from '../../../src/cli/mcp/result.ts'

test('escapes characters that people do not see, and keeps those of emoji', () => {
  const emoji = '❤️‍🔥 ❤️ 👩‍💻 👍🏽'
  expect(withoutControls(emoji)).toBe(emoji)
  expect(withoutControls('a\u{e0041}b')).toBe('a\\u{e0041}b')
  // A run of variation selectors can encode text.
  expect(withoutControls('❤\ufe0f\ufe01\ufe02')).toBe('❤\ufe0f\\u{fe01}\\u{fe02}')
  expect(withoutControls('a\u200d\u200d')).toBe('a\u200d\\u{200d}')
  for (const filler of ['\u034f', '\u115f', '\u1160', '\u17b4', '\u180e', '\u3164', '\uffa0']) {
    expect(withoutControls(`a${filler}b`)).toBe(`a\\u{${filler.charCodeAt(0).toString(16)}}b`)
  }
})
