import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import * as format from '../../src/explorer/format.ts'
import { pathTo, routeOf } from '../../src/explorer/routes.ts'

describe('texts of the web explorer', () => {
  it.each([
    [0, '0 bytes'],
    [1, '1 byte'],
    [999, '999 bytes'],
    [1000, '1.0 kB'],
    [12_345, '12 kB'],
    [999_499, '999 kB'],
    [999_500, '1.0 MB'],
    [4_000_000, '4.0 MB'],
    [67_108_864, '67 MB'],
  ])('%i bytes are %s', (size, words) => expect(format.bytes(size)).toBe(words))

  const NOW = Date.parse('2026-11-20T12:00:00Z')
  it.each([
    ['2026-11-20T11:59:58Z', 'just now'],
    ['2026-11-20T11:59:20Z', '40 sec. ago'],
    ['2026-11-20T11:57:00Z', '3 min. ago'],
    ['2026-11-20T10:00:00Z', '2 hr. ago'],
    ['2026-11-19T11:00:00Z', 'yesterday'],
    ['2026-11-20T12:10:00Z', 'in 10 min.'],
    ['2024-11-20T12:00:00Z', '2 yr. ago'],
    ['soon', 'soon'],
  ])('%s is %s', (time, words) => expect(format.ago(time, NOW)).toBe(words))

  it('groups the digits of gas of any length', () => {
    expect(format.digits('123456789012345678901234567890')).toBe('123,456,789,012,345,678,901,234,567,890')
    expect(format.digits('a lot')).toBe('a lot')
  })

  it('shortens a long ID in the middle, keeps a short one, and splits no character', () => {
    expect(format.shortenMiddle('0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359')).toBe('0xfB69…d359')
    expect(format.shortenMiddle('0123456789')).toBe('0123456789')
    expect(format.shortenMiddle('🌊'.repeat(20), 2, 1)).toBe('🌊🌊…🌊')
  })

  it.each(['', '   ', '\u200b\u200e', '\u202e\u2066', '\u3164', '\u0301\u0301', '\u2800'])(
    'shows a title of %j, which is invisible, as untitled',
    (title) => expect(format.visibleTitle(title)).toBe(null),
  )

  it.each(['a', '🌊', 'الليل', '.', '\u202eabc'])('shows a title of %j unchanged', (title) =>
    expect(format.visibleTitle(title)).toBe(title),
  )
})

describe('links', () => {
  it.each([
    'javascript:alert(1)',
    ' javascript:alert(1)',
    'java\nscript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    'blob:x',
    '//evil.example',
    'nonsense',
    '',
  ])('%j is not linked', (address) => expect(format.webAddress(address)).toBe(null))

  it('to a block explorer use http or https', () => {
    expect(format.webAddress('https://scan.example/tx/0x1')).toBe('https://scan.example/tx/0x1')
    expect(format.webAddress(null)).toBe(null)
  })

  it.each([
    ['text/html; charset=utf-8', 'cid.bin'],
    ['application/xhtml+xml', 'cid.bin'],
    ['constructor', 'cid.bin'],
    [null, 'cid.bin'],
    ['image/png', 'cid.png'],
    ['model/gltf-binary', 'cid.glb'],
  ])('a file of type %s is saved as %s', (type, name) => expect(format.fileName('cid', type)).toBe(name))

  it('lead to the right page for any ID', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }), (id) => {
        fc.pre(id !== '.' && id !== '..' && id.isWellFormed())
        const at = (path: string) => routeOf(new URL(path, 'http://localhost'))
        expect(at(pathTo.nft(id))).toEqual({ page: 'nft', id })
        expect(at(pathTo.collection(id))).toEqual({ page: 'collection', id })
        expect(at(pathTo.owner(id))).toEqual({ page: 'owner', address: id })
        expect(at(pathTo.run(id))).toEqual({ page: 'run', id })
        expect(at(pathTo.search(id))).toEqual({ page: 'search', q: id })
      }),
    )
  })

  it.each(['/nfts', '/nfts/a/b', '/nowhere', '/docs', '/ipfs/x', '/nfts/%ff', '/__proto__'])(
    '%s is not a page of the web explorer',
    (path) => expect(routeOf(new URL(path, 'http://localhost'))).toEqual({ page: 'unknown' }),
  )
})
