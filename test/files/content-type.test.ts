import { expect, test } from 'vitest'
import { looksLikeHtml, SNIFF_BYTES, sniffContentType } from '../../src/files/content-type.ts'

const latin1 = (text: string) => Uint8Array.from(Buffer.from(text, 'latin1'))

test.each([
  ['image/png', '\x89PNG\r\n\x1a\n\0\0\0\rIHDR'],
  ['image/jpeg', '\xff\xd8\xff\xe0\0\x10JFIF'],
  ['image/gif', 'GIF89a\x01\0\x01\0'],
  ['image/webp', 'RIFF\x24\0\0\0WEBPVP8 '],
  ['image/avif', '\0\0\0\x20ftypavif\0\0\0\0avifmif1'],
  ['image/avif', '\0\0\0\x20ftypmif1\0\0\0\0mif1avifmiaf'],
  ['video/mp4', '\0\0\0\x18ftypisom\0\0\x02\0isomiso2'],
  ['video/mp4', '\0\0\0\x18ftypmp42\0\0\0\0mp42isom'],
  ['video/webm', '\x1aE\xdf\xa3\x9fB\x86\x81\x01B\xf7\x81\x01B\xf2\x81\x04B\xf3\x81\x08B\x82\x84webm'],
  ['audio/mpeg', 'ID3\x03\0\0\0\0\0\0'],
  ['audio/mpeg', '\xff\xfb\x90\x44\0\0'],
  ['audio/wav', 'RIFF\x24\0\0\0WAVEfmt '],
  ['audio/ogg', 'OggS\0\x02\0\0'],
  ['model/gltf-binary', 'glTF\x02\0\0\0\x10\0\0\0'],
  ['model/gltf+json', '{ "asset": { "generator": "x", "version": "2.0" } }'],
  ['application/pdf', '%PDF-1.7\n'],
  ['image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg"/>'],
  ['image/svg+xml', '\xef\xbb\xbf<?xml version="1.0"?>\n<!-- made by hand -->\n<svg width="1">'],
  ['image/svg+xml', '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "svg11.dtd">\n<!-- x --><svg>'],
  ['application/json', '{"name":"x"}'],
  ['application/json', ' \n[1,2]'],
  ['text/html; charset=utf-8', '<!DOCTYPE html><html>'],
  ['text/html; charset=utf-8', '\n <!-- saved -->\n<HTML lang=en>'],
  ['text/html; charset=utf-8', '<script>alert(1)</script>'],
  ['text/plain; charset=utf-8', 'hello world\n'],
  ['text/plain; charset=utf-8', '{ not json }'],
  ['application/octet-stream', '\0\x01\x02\x03'],
  ['application/octet-stream', ''],
])('detects %s from the first bytes %j', (type, bytes) => {
  expect(sniffContentType(latin1(bytes))).toBe(type)
})

test.each([
  ['0.json', 'application/json'],
  ['art.PNG', 'image/png'],
  ['page.html', 'text/html; charset=utf-8'],
])('the name %s determines the type, regardless of the bytes', (name, type) => {
  expect(sniffContentType(latin1('\0\x01'), name)).toBe(type)
})

test.each(['art', 'art.unknown', '.png', 'constructor', 'a.constructor'])('the name %s has no known type', (name) => {
  expect(sniffContentType(latin1('GIF89a'), name)).toBe('image/gif')
})

test('detects text that is cut within a character', () => {
  expect(sniffContentType(Buffer.from('naïve €').subarray(0, -1))).toBe('text/plain; charset=utf-8')
})

test('detects a page in UTF-16', () => {
  expect(looksLikeHtml(Buffer.from('\ufeff<!doctype html>', 'utf16le'))).toBe(true)
})

test.each([
  ['a comment of 2 KiB', `<!-- ${'x'.repeat(2048)} --><html><script>`],
  ['a comment that goes on after all that is read', `<!-- ${'x'.repeat(SNIFF_BYTES)} --><html><script>`],
  ['white space alone in all that is read', `${' '.repeat(SNIFF_BYTES)}<html>`],
  ['an XML declaration that goes on after all that is read', `<?${'x'.repeat(SNIFF_BYTES)}?><html>`],
  ['many comments', `${'<!-- x -->\n'.repeat(500)}<body>`],
  ['a comment and text', '<!-- x -->hello <script>alert(1)</script>'],
  ['the doctype of an SVG picture', '<!DOCTYPE svg><html><script>'],
  ['the mark of a video in a comment', '<!--ftypisom--><html><script>'],
  ['a control character', '<html>\x01<script>'],
  ['a tag, in Latin-1', '<html><title>caf\xe9</title>'],
  ['a byte order mark, in Latin-1', '\xef\xbb\xbf<html><title>caf\xe9</title>'],
])('detects an HTML page that begins with %s', (_, text) => {
  expect(looksLikeHtml(latin1(text))).toBe(true)
})

test('detects a picture after a license of 12 KiB', () => {
  const text = `<?xml version="1.0"?>\n<!-- ${'license '.repeat(1500)} -->\n<!DOCTYPE svg [<!ENTITY x "y">]>\n<svg width="1">`
  expect(sniffContentType(latin1(text))).toBe('image/svg+xml')
})

test('stays fast on hostile comments', () => {
  const started = process.cpuUsage()
  for (const text of [
    '<!---->'.repeat(5000),
    '<!--'.repeat(9000),
    `<!doctype svg [${'['.repeat(9000)}`,
    '<?'.repeat(9000),
    `{"asset":{${'"asset":{'.repeat(9000)}`,
    `<!--${'<!---->'.repeat(9000)}`,
    '\n'.repeat(20_000),
    `\x01${'<!---->'.repeat(5000)}`,
  ]) {
    sniffContentType(latin1(text))
  }
  expect(process.cpuUsage(started).user / 1000).toBeLessThan(1000)
})
