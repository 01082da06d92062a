import { expect, it, onTestFinished } from 'vitest'
import { excerpt } from '../../src/core/excerpt.ts'
import { Secret } from '../../src/core/secret.ts'

function know(...values: string[]): void {
  const secrets = values.map((value) => new Secret(value))
  onTestFinished(() => {
    for (const secret of secrets) secret.disclose()
  })
}

it.each([
  ['with spaces', 'got O p e n s e s a m e - 4 7 1 1'],
  ['in another case', 'got opensesame_4711'],
  ['backwards, with spaces', 'got 1174 emas esn ep O'],
])('shows nothing of a text that spells a secret %s', (_how, text) => {
  know('another-secret-42', 'Opensesame-4711')
  expect(excerpt(text)).toBe('[redacted]')
})

it('shows other texts while secrets are known', () => {
  know('Opensesame-4711')
  expect(excerpt('the sesame is open')).toBe('the sesame is open')
})

it('redacts a text that spells a secret of 8 letters and digits, and not one of 7', () => {
  know('abcd-123', 'wxyz-9876')
  expect(excerpt('abcd 123')).toBe('abcd 123')
  expect(excerpt('wxyz 9876')).toBe('[redacted]')
})

it('returns one line of at most 200 characters without control characters', () => {
  expect(excerpt(' a\r\n\u001b[2J\u2028b ')).toBe('a [2J b')
  expect(excerpt('x'.repeat(200))).toBe('x'.repeat(200))
  expect(excerpt('x'.repeat(201))).toBe(`${'x'.repeat(200)}…`)
})
