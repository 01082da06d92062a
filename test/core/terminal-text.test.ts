import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { terminalText } from '../../src/core/terminal-text.ts'

describe('external text on a terminal', () => {
  it.each([
    ['\u001b]52;c;aGk=\u0007', '\\u001b]52;c;aGk=\\u0007'],
    ['\u001b[2J', '\\u001b[2J'],
    ['\u009b2J', '\\u009b2J'],
    ['safe\rEVIL', 'safe\\u000dEVIL'],
    ['ab\b\bxy', 'ab\\u0008\\u0008xy'],
    ['a\nb\tc', 'a\\u000ab\\u0009c'],
    ['\u007f', '\\u007f'],
    ['\u202egnp.exe', '\\u202egnp.exe'],
    ['\u2066x\u2069', '\\u2066x\\u2069'],
    ['a\u200bb', 'a\\u200bb'],
    ['\ufeffname', '\\ufeffname'],
    ['a\u2028b', 'a\\u2028b'],
    ['\ud800', '\\ud800'],
    ['x\udfff', 'x\\udfff'],
  ])('shows %j as %s', (text, shown) => expect(terminalText(text)).toBe(shown))

  it.each(['plain', 'Ünïcödé', '日本語', 'עברית', '👩‍👩‍👧‍👦', '❤️', '🇯🇵', '', 'C:\\path'])(
    'leaves %j unchanged',
    (text) => {
      expect(terminalText(text)).toBe(text)
    },
  )

  it('outputs nothing that moves the cursor, hides text or reorders it, for any input', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        const shown = terminalText(text)
        expect(shown).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/u)
        expect(shown.isWellFormed()).toBe(true)
        expect(terminalText(shown)).toBe(shown)
      }),
    )
  })
})
