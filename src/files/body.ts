import type { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { formatBytes } from '../core/format-bytes.ts'
import { FetchFailure } from './failure.ts'

// Requests accept only `identity`, but some servers compress the response anyway.
const DECODERS: Record<string, () => Transform> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
}

/** Maximum number of bytes that compression may add to incompressible data. */
const MAX_COMPRESSION_OVERHEAD = 64 * 1024

/**
 * Returns a stream of the file's own bytes, which decodes the body as it is read. Decodes at most one layer of
 * compression. Also limits the compressed bytes, because an unlimited number of compressed bytes may decode to nothing.
 */
export function decodeBody(
  body: Readable,
  { contentEncoding, label, maxBytes }: { contentEncoding: string; label: string; maxBytes: number },
): Readable {
  const encodings = contentEncoding.split(',').map((encoding) => encoding.trim().toLowerCase())
  const applied = encodings.filter((encoding) => encoding !== '' && encoding !== 'identity')
  const [only, ...more] = applied
  if (only === undefined) return body
  const decoder = more.length === 0 && Object.hasOwn(DECODERS, only) ? DECODERS[only] : undefined
  if (decoder === undefined) {
    throw new FetchFailure(`${label} returned an unsupported content encoding`, {
      isLasting: true,
      hint: 'Serve the file without a content-encoding, or with only one of gzip, deflate and br.',
    })
  }
  // `pipeline()` passes an error in either stream to the decoder's reader. If the reader stops early, `pipeline()` ends
  // both streams.
  return pipeline(
    body,
    (bytes) => limitBody(bytes, maxBytes + MAX_COMPRESSION_OVERHEAD, label),
    decoder(),
    () => undefined,
  )
}

/** Yields the bytes of a decoded body. Throws as soon as the body exceeds the limit. */
export async function* limitBody(body: AsyncIterable<Uint8Array>, maxBytes: number, label: string, slack = 0) {
  let size = 0
  for await (const bytes of body) {
    size += bytes.length
    if (size > maxBytes + slack) throw tooLargeError(label, maxBytes)
    if (bytes.length > 0) yield bytes
  }
}

export function tooLargeError(label: string, maxBytes: number): FetchFailure {
  return new FetchFailure(`${label} is larger than ${formatBytes(maxBytes)}`, {
    isLasting: true,
    hint: 'Use a smaller file.',
  })
}
