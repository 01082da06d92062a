import { describe, expect, it } from 'vitest'
import { fileUrlProblem } from '../../src/api/file-url.ts'

describe('a file URL', () => {
  it.each([
    'https://example.com/a.png',
    'http://example.com:8080/a.png?x=1&y=%20#part',
    'HTTPS://EXAMPLE.COM/A.PNG',
    'https://例え.jp/絵.png',
    'http://[2606:4700::1]/a',
    'http://127.0.0.1:9/a.png',
    'https://example.com',
    'ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG',
    'ipfs://bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4',
    'ipfs://bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4/art/1.png',
    `ar://${'aB3_-'.repeat(8)}abc`,
    `ar://${'a'.repeat(43)}/1.png`,
    `https://example.com/${'a'.repeat(2000)}`,
  ])('accepts %s without a request', (url) => expect(fileUrlProblem(url)).toBeNull())

  it.each([
    ['', /is empty/],
    ['example.com/a.png', /must be an http\(s\), ipfs or ar URL/],
    ['//example.com/a.png', /must be an http\(s\), ipfs or ar URL/],
    ['/etc/passwd', /must be an http\(s\), ipfs or ar URL/],
    ['file:///etc/passwd', /must be an http\(s\), ipfs or ar URL/],
    ['data:image/png;base64,AAAA', /must be an http\(s\), ipfs or ar URL/],
    ['gopher://example.com/', /must be an http\(s\), ipfs or ar URL/],
    ['javascript:alert(1)', /must be an http\(s\), ipfs or ar URL/],
    ['ftp://example.com/a', /must be an http\(s\), ipfs or ar URL/],
    [' https://example.com', /must be an http\(s\), ipfs or ar URL/],
    ['https:example.com', /must be an http\(s\), ipfs or ar URL/],
    ['https://example.com/a b', /whitespace or a backslash/],
    ['https://example.com\\@evil.example', /whitespace or a backslash/],
    ['https://example.com/\n', /whitespace or a backslash/],
    ['https://', /is not a URL/],
    ['https://:80/', /is not a URL/],
    ['https://example.com:99999/', /is not a URL/],
    ['https://user@example.com/', /user name or password/],
    ['https://user:secret@example.com/', /user name or password/],
    ['https://:secret@example.com/', /user name or password/],
    ['ar://', /is not an ar URL/],
    ['ar://short', /is not an ar URL/],
    [`ar://${'a'.repeat(43)}/a b`, /is not an ar URL/],
    ['ipfs://', /is not an ipfs URL/],
    ['ipfs://QmShort', /is not an ipfs URL/],
    ['ipfs:QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG', /is not an ipfs URL/],
    ['ipfs://../../api-key', /\. or \.\. in its path/],
    ['ipfs://bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4/../x', /\. or \.\. in its path/],
    ['ipfs://bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4/\u001b[2J', /is not an ipfs URL/],
    [`ar://${'a'.repeat(43)}/\u202e`, /is not an ar URL/],
    ['ipfs://bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4/a b', /is not an ipfs URL/],
    [`https://example.com/${'a'.repeat(2048)}`, /longer than 2048/],
  ])('rejects %j', (url, message) => expect(fileUrlProblem(url)).toMatch(message))

  it('never repeats a password in an error', () => {
    expect(fileUrlProblem('https://user:hunter2@example.com/')).not.toContain('hunter2')
  })
})
