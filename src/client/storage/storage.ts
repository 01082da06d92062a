import type { UploadOptions } from '../api-client.ts'
import type { RetryClock } from '../retry-clock.ts'
import type { Transport } from '../transport.ts'

/** The user's own storage, from which a server can download files. */
export interface Storage {
  /** Stores a file, given by its path or bytes, unless it already exists. The returned URL is for file_fields. */
  upload(content: string | Uint8Array, name: string, options?: UploadOptions): Promise<{ url: string }>
  close(): Promise<void>
}

/** Dependencies of a `Storage` that sends requests. */
export interface StorageLine {
  transport: Transport
  userAgent: string
  clock: RetryClock
}

/** Returns the upload timeout in milliseconds. It permits a speed of 32 bytes per millisecond, plus a minute. */
export const uploadTimeoutMs = (bytes: number): number => 60_000 + Math.ceil(bytes / 32)
