import { GdnError, type GdnErrorOptions } from '../../core/errors.ts'
import { formatBytes } from '../../core/format-bytes.ts'
import type { Block } from '../store/block-table.ts'

/** The result of storing a file: equal content has an equal CID, the same as `ipfs add --cid-version=1`. */
export interface StoredFile {
  cid: string
  /** Bytes of the content. */
  size: number
}

/** A range from `start` to `end` (exclusive), as in `slice`; it is clamped to the content's length. */
export interface ByteRange {
  start?: number
  end?: number
}

export interface DirectoryEntry {
  name: string
  cid: string
}

export interface StoredFileContent {
  type: 'file'
  cid: string
  size: number
  stream(range?: ByteRange): AsyncIterable<Uint8Array>
}

export interface StoredDirectory {
  type: 'directory'
  cid: string
  entries: readonly DirectoryEntry[]
}

export type StoredContent = StoredFileContent | StoredDirectory

export interface AddOptions {
  /** Maximum size; more is a {@link ContentTooLargeError}, and nothing is kept. */
  maxBytes?: number
}

export interface OpenOptions {
  /** Only this storage's own content: no other source is queried. */
  ours?: boolean
}

/**
 * A content-addressed file storage. Content never changes and is never removed, so what was found once stays available.
 * A data directory, a bucket or an IPFS node implements it.
 */
export interface FileStorage {
  /**
   * Stores a stream and resolves with its CID once the content is durable. Memory is bounded, regardless of the length,
   * and equal content is stored once. An error of the stream is passed on and leaves nothing behind.
   */
  add(content: AsyncIterable<Uint8Array>, options?: AddOptions): Promise<StoredFile>
  /**
   * Opens the content of a CID (v0 or v1, any usual base), or of a path below a directory. Null if it isn't stored
   * here, if the path doesn't exist, and for text that isn't a CID: for an HTTP client all of these are the same.
   *
   * @throws StorageUnavailableError
   */
  open(cid: string, path?: readonly string[], options?: OpenOptions): Promise<StoredContent | null>
  /** Whether `open(cid)` would return content. */
  has(cid: string): Promise<boolean>
  /**
   * Stores blocks unchanged. The caller has checked their bytes against their CIDs.
   *
   * @param root the CID of the complete content, once everything that is reachable from it is stored
   */
  putBlocks(blocks: readonly Block[], root?: string): Promise<void>
  /** Pins content that `open` found, if others could remove it. */
  keep(cid: string): Promise<void>
}

/** The content exceeds the limit. */
export class ContentTooLargeError extends GdnError {
  readonly maxBytes: number

  constructor(maxBytes: number) {
    super('invalid_input', `the file is larger than ${formatBytes(maxBytes)}`, { hint: 'Use a smaller file.' })
    this.name = 'ContentTooLargeError'
    this.maxBytes = maxBytes
  }
}

/** The storage is unreachable or faulty: a temporary problem, or one for its operator. */
export class StorageUnavailableError extends GdnError {
  constructor(message: string, options: GdnErrorOptions = {}) {
    super('unreachable', message, { hint: 'Try again later.', ...options })
    this.name = 'StorageUnavailableError'
  }
}
