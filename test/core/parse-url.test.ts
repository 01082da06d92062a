import { expect, test } from 'vitest'
import { parseUrl } from '../../src/core/parse-url.ts'

test('accepts a URL every time it is parsed, also with Latin-1 letters', () => {
  for (let i = 0; i < 50_000; i++) {
    const bytes = Buffer.from('http://files.example/a')
    // From 0xc0 on these are letters, which names may contain.
    bytes[7 + (i % 5)] = 0xc0 + ((i * 7) % 0x17)
    const text = bytes.toString('latin1')
    if (parseUrl(text)?.host.startsWith('xn--') !== true) throw new Error(`${text} after ${i} others`)
  }
})

test('returns null for an invalid URL', () => {
  expect(['', '/path', 'http://', 'http://[', 'http://a b/', '\0'].map((text) => parseUrl(text))).toEqual(
    Array(6).fill(null),
  )
  expect(parseUrl('/path', new URL('http://a.example'))?.href).toBe('http://a.example/path')
})
