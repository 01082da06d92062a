import type { UploadOptions } from '../api-client.ts'
import type { Clock } from '../clock.ts'
import type { Transport } from '../transport.ts'

/** The user's own storage for files, from which a server can fetch them. */
export interface Storage {
  /** Stores a file (a path, or its bytes) unless it exists. The URL is for file_fields. */
  upload(content: string | Uint8Array, name: string, options?: UploadOptions): Promise<{ url: string }>
  close(): Promise<void>
}

/** The dependencies of access to a storage. */
export interface StorageLine {
  transport: Transport
  userAgent: string
  clock: Clock
}

/** The timeout at the slowest supported upload speed: 32 bytes a millisecond, and a minute. */
export const uploadTimeoutMs = (bytes: number): number => 60_000 + Math.ceil(bytes / 32)
