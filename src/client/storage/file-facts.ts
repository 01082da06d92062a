import { createHash } from 'node:crypto'
import { SNIFF_BYTES, sniffContentType } from '../../files/content-type.ts'
import { streamedContent } from '../local-content.ts'
import type { StreamedBody } from '../transport.ts'

/** A file, with its hash and type, which must be known before it is sent. */
export interface FileFacts {
  body: StreamedBody
  /** In hexadecimal. */
  sha256: string
  contentType: string
}

/** Reads a file once to determine its hash and type. */
export async function readFileFacts(content: string | Uint8Array, name: string, sha256?: string): Promise<FileFacts> {
  const body = await streamedContent(content, name, sha256)
  const hash = createHash('sha256')
  const head: Uint8Array[] = []
  let headBytes = 0
  for await (const chunk of body.open()) {
    hash.update(chunk)
    if (headBytes < SNIFF_BYTES) head.push(chunk)
    headBytes += chunk.length
  }
  return { body, sha256: hash.digest('hex'), contentType: sniffContentType(Buffer.concat(head), name) }
}
