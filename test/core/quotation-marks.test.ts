import { expect, test } from 'vitest'
import { isInQuotes } from '../../src/core/quotation-marks.ts'

test.each(['"Dawn"', "'Dawn'", '“Dawn”', '„Dawn“', '”Dawn”', '‘Dawn’', '«Dawn»', '»Dawn«'])(
  '%s is in quotes',
  (text) => {
    expect(isInQuotes(text)).toBe(true)
  },
)

test.each(['Dawn', '"', '', '"Dawn', 'Dawn”', '"A" and "B"', '’tis “Dawn”', '5”'])('%s is not', (text) => {
  expect(isInQuotes(text)).toBe(false)
})
