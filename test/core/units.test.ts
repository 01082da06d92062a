import { expect, test } from 'vitest'
import { formatCoins, formatGwei, formatUnits, parseUnits } from '../../src/core/units.ts'

test.each([
  ['0', 0n],
  ['1', 10n ** 18n],
  ['0.5', 5n * 10n ** 17n],
  ['0.000000000000000001', 1n],
  ['123456789.123456789123456789', 123456789123456789123456789n],
  ['007', 7n * 10n ** 18n],
])('parses %s exactly', (text, wei) => expect(parseUnits(text)).toBe(wei))

test.each(['', '-1', '+1', '1e3', '1.', '.5', '0x1', '1,5', ' 1', '0.0000000000000000001', 'NaN', '٣'])(
  'rejects "%s"',
  (text) => expect(parseUnits(text)).toBeNull(),
)

test('formats units rounded, and small amounts with four digits', () => {
  expect(formatUnits(1_234_567_890_123_456_789n, 6)).toBe('1.234568')
  expect(formatUnits(10n ** 18n, 6)).toBe('1')
  expect(formatUnits(0n, 6)).toBe('0')
  expect(formatUnits(1n, 6)).toBe('0.000000000000000001')
  expect(formatUnits(1_234_567_890_123n, 6)).toBe('0.000001235')
  expect(formatUnits(1n)).toBe('0.000000000000000001')
  expect(formatUnits(999_999_999_999_999_999n, 6)).toBe('1')
  expect(formatUnits(12n, 0, 1)).toBe('1.2')
  expect([formatGwei(32_500_000_000n), formatGwei(6_000_000n), formatGwei(1_000_000_000n)]).toEqual([
    '32.5',
    '0.006',
    '1',
  ])
  expect([formatGwei(12_345_678_901n), formatGwei(1_234_567n), formatGwei(7n)]).toEqual([
    '12.346',
    '0.001235',
    '0.000000007',
  ])
})

test('rounds coins as asked', () => {
  const wei = 1_234_567_500_000_000_000n
  expect([formatCoins(wei), formatCoins(wei, 'up'), formatCoins(wei, 'down')]).toEqual([
    '1.234568',
    '1.234568',
    '1.234567',
  ])
  expect([formatCoins(wei + 1n, 'up'), formatCoins(10n ** 18n - 1n, 'down')]).toEqual(['1.234568', '0.999999'])
  expect([formatCoins(123_401n, 'up'), formatCoins(123_499n, 'down')]).toEqual([
    '0.0000000000001235',
    '0.0000000000001234',
  ])
})
