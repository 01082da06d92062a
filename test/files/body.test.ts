import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { decodeBody } from '../../src/files/body.ts'

test('rejects too many compressed bytes, even if they decode to nothing', async () => {
  const empty = Buffer.concat(Array.from({ length: 1000 }, () => gzipSync('')))
  const body = Readable.from(Array.from({ length: 100 }, () => empty))
  const decoded = decodeBody(body, { contentEncoding: 'gzip', label: 'the file', maxBytes: 1_000_000 })
  await expect(decoded.toArray()).rejects.toThrow('the file is larger than')
})
