import { expect, test } from 'vitest'
import { parseReadableUrl } from '../../src/archive/token-uri.ts'
import { decodeDataUrl } from '../../src/core/data-url.ts'
import { parseMetadataPlace } from '../../src/verify/contract/token-uri.ts'

const latin1 = (url: string) => {
  const bytes = decodeDataUrl(url)
  return bytes === null ? null : Buffer.from(bytes).toString('latin1')
}

test.each([
  ['text without a type', 'data:,hello', 'hello'],
  ['escaped bytes', 'data:,%7B%22a%22%3A1%7D', '{"a":1}'],
  ['bytes that are not UTF-8', 'data:application/octet-stream,%FF%00', '\xff\0'],
  ['percent signs without hex digits, next to escaped bytes', 'data:,<svg width="100%" %3E%2', '<svg width="100%" >%2'],
  ['a number sign', 'data:image/svg+xml,<svg fill="#fff"/>', '<svg fill="#fff"/>'],
  ['base64', 'data:text/plain;base64,aGk=', 'hi'],
  ['base64 without padding', 'data:text/plain;charset=utf-8;base64,aGk', 'hi'],
  ['base64url', 'data:;base64,-_-_', '\xfb\xff\xbf'],
  ['escaped base64', 'data:;base64,%2B%2f%2B%2F%0A', '\xfb\xff\xbf'],
  ['white space in base64', 'data:;base64, aG\r\n k=\t', 'hi'],
  ['white space around base64', 'data:text/plain; BASE64 ,aGk=', 'hi'],
  ['a type that ends with base64', 'data:base64,aGk=', 'aGk='],
  ['no comma', 'data:hello', null],
  ['a character outside base64', 'data:;base64,aG*k', null],
  ['a percent sign in base64', 'data:;base64,aG%k', null],
  ['padding before the end', 'data:;base64,aG=k', null],
])('decodes a data URL with %s', (_, url, content) => {
  expect(latin1(url)).toBe(content)
})

test.each(['data:application/json; base64,eyJhIj ox\nfQ==', 'data:application/json,{"a":"100%%22}'])(
  'reads the same metadata for an archive and for a verification: %j',
  (url) => {
    const content = decodeDataUrl(url)
    expect(JSON.parse(Buffer.from(content ?? []).toString())).toHaveProperty('a')
    expect(parseReadableUrl(url, 'https://arweave.example')).toMatchObject({ kind: 'data', url })
    expect(parseMetadataPlace(url)).toEqual({ kind: 'data', content })
  },
)
