import { expect, test } from 'vitest'
import { parseUrl } from '../../src/core/parse-url.ts'

test('a URL is one however often was asked, also with letters of Latin 1', () => {
  for (let i = 0; i < 50_000; i++) {
    const bytes = Buffer.from('http://files.example/a')
    // From 0xc0 on they are letters, which names may have.
    bytes[7 + (i % 5)] = 0xc0 + ((i * 7) % 0x17)
    const text = bytes.toString('latin1')
    if (parseUrl(text)?.host.startsWith('xn--') !== true) throw new Error(`${text} after ${i} others`)
  }
})

test('what is none is null', () => {
  expect(['', '/path', 'http://', 'http://[', 'http://a b/', '\0'].map((text) => parseUrl(text))).toEqual(
    Array(6).fill(null),
  )
  expect(parseUrl('/path', new URL('http://a.example'))?.href).toBe('http://a.example/path')
})
