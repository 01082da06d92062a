import { describe, expect, it } from 'vitest'
import { quoted } from '../../src/core/quoted.ts'
import { shorten, shortenTo } from '../../src/core/shorten.ts'

describe('shorten', () => {
  it('returns a text of at most the maximum length unchanged', () => {
    expect(shorten('abc', 3)).toBe('abc')
    expect(shorten('a🎈', 3)).toBe('a🎈')
  })

  it('truncates a longer text and appends the end', () => {
    expect(shorten('abcd', 3)).toBe('abc…')
    expect(shorten('abcd', 3, ' … (4 characters)')).toBe('abc … (4 characters)')
  })

  it('leaves no half of an emoji at the limit', () => {
    expect(shorten('ab🎈c', 4)).toBe('ab🎈…')
    expect(shorten('ab🎈c', 3)).toBe('ab\ufffd…')
    expect(quoted(`${'x'.repeat(59)}🎈`)).toBe(`"${'x'.repeat(59)}\ufffd…"`)
  })
})

describe('shortenTo', () => {
  it('counts the ellipsis', () => {
    expect(shortenTo('abc', 3)).toBe('abc')
    expect(shortenTo('abcd', 3)).toBe('ab…')
  })

  it('leaves no half of an emoji at the limit', () => {
    expect(shortenTo('a🎈cd', 4)).toBe('a🎈…')
    expect(shortenTo('a🎈cd', 3)).toBe('a\ufffd…')
  })
})
