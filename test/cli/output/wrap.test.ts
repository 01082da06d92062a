import fc from 'fast-check'
import { expect, test } from 'vitest'
import { wrapLine } from '../../../src/cli/text/wrap.ts'

const word = fc.stringMatching(/^[a-z]{1,12}$/)

test('wraps between words at the width of the terminal, and keeps all words and the indent', () => {
  fc.assert(
    fc.property(
      fc.array(word, { minLength: 1, maxLength: 60 }),
      fc.integer({ min: 0, max: 4 }),
      fc.integer({ min: 30, max: 120 }),
      (words, indent, columns) => {
        const lines = wrapLine(' '.repeat(indent) + words.join(' '), columns).split('\n')
        for (const line of lines) {
          expect(line.length).toBeLessThanOrEqual(columns)
          expect(/^ */.exec(line)?.[0]).toHaveLength(indent)
        }
        expect(lines.map((line) => line.trim()).join(' ')).toBe(words.join(' '))
      },
    ),
  )
})

test('keeps a command in one piece, on its own line if necessary', () => {
  const command = `gdn nft mint --local -c 0x${'a'.repeat(40)} --title Dawn`
  expect(wrapLine(`  Next: ${command}`, 60)).toBe(`  Next:\n  ${command}`)
  expect(wrapLine(`  Next: ${command}`, 120)).toBe(`  Next: ${command}`)
})

test('keeps a command in backticks in one piece', () => {
  const text = 'Run `gdn nft list --local` to see them.'
  expect(wrapLine(`  ${text}`, 24)).toBe('  Run\n  `gdn nft list --local`\n  to see them.')
  expect(wrapLine(`  ${text}`, 80)).toBe(`  ${text}`)
})

test('counts no columns for colors, and two columns for wide letters', () => {
  const red = '\u001b[31mred\u001b[39m'
  expect(wrapLine(Array(8).fill(red).join(' '), 31)).toBe(Array(8).fill(red).join(' '))
  expect(wrapLine('日本語の題 日本語の題 日本語の題', 22)).toBe('日本語の題 日本語の題\n日本語の題')
})
