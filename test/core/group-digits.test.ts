import fc from 'fast-check'
import { expect, test } from 'vitest'
import { groupDigits } from '../../src/core/group-digits.ts'

test('an integer is grouped as in English', () => {
  fc.assert(
    fc.property(fc.oneof(fc.maxSafeInteger(), fc.bigInt(), fc.integer({ min: -10_000, max: 10_000 })), (n) => {
      expect(groupDigits(n)).toBe(n.toLocaleString('en-US'))
    }),
  )
})
