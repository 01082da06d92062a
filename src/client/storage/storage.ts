import type { UploadOptions } from '../api-client.ts'
import type { Clock } from '../retry.ts'
import type { Transport } from '../transport.ts'

/** A place of the user's own where files are put that a server can fetch then. */
export interface Storage {
  /** Puts a file (a path, or its bytes) there, unless it is there already. The URL goes into file_fields. */
  upload(content: string | Uint8Array, name: string, options?: UploadOptions): Promise<{ url: string }>
  close(): Promise<void>
}

/** What reaching a storage depends on. */
export interface StorageLine {
  transport: Transport
  userAgent: string
  clock: Clock
}

/** The slowest line that an upload is still given time for: 32 bytes a millisecond, and a minute. */
export const uploadTimeoutMs = (bytes: number): number => 60_000 + Math.ceil(bytes / 32)
