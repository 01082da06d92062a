import { createHash } from 'node:crypto'
import { SNIFF_BYTES, sniffContentType } from '../../files/content-type.ts'
import type { UploadOptions } from '../api-client.ts'
import type { RetryClock } from '../retry-clock.ts'
import type { StreamedBody, Transport } from '../transport.ts'
import { maxUploadMs, streamedContent } from '../upload.ts'

/** The user's own storage, from which servers can download files. */
export interface Storage {
  /** Stores a file, given by its path or bytes, unless it already exists. Use the returned URL in `file_fields`. */
  upload(content: string | Uint8Array, name: string, options?: UploadOptions): Promise<{ url: string }>
  close(): Promise<void>
}

/** Dependencies of a `Storage` that sends requests. */
export interface StorageDeps {
  transport: Transport
  userAgent: string
  clock: RetryClock
}

/** Returns the timeout of an upload, in milliseconds. The timeout includes a minute for the response. */
export const uploadTimeoutMs = (bytes: number): number => 60_000 + maxUploadMs(bytes)

/** A file with its hash and type, which must be known before the file is sent. */
export interface FileProperties {
  body: StreamedBody
  /** SHA-256 hash of the content in hexadecimal. */
  sha256: string
  contentType: string
}

/** Reads a file once to determine its hash and type. */
export async function readFileProperties(
  content: string | Uint8Array,
  name: string,
  sha256?: string,
): Promise<FileProperties> {
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
