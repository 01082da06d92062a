import { GdnError, type GdnErrorOptions } from '../../core/errors.ts'
import { formatBytes } from '../../core/format-bytes.ts'
import type { ByteRange, ContentBlock } from '../../ipfs/cid.ts'

/** The result of storing a file. Equal content has an equal CID, as with `ipfs add --cid-version=1`. */
export interface StoredFile {
  cid: string
  /** Size of the content in bytes. */
  size: number
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
  /** Maximum size in bytes. Larger content causes a {@link ContentTooLargeError}, and nothing is stored. */
  maxBytes?: number
}

export interface OpenOptions {
  /** Whether to open only this storage's own content, without querying another source. */
  ours?: boolean
}

/**
 * A content-addressed file storage. Content never changes and is never removed, so content that was found once stays
 * available. It is implemented by a data directory, a bucket and an IPFS node.
 */
export interface FileStorage {
  /**
   * Stores a stream and resolves with its CID when the content is durable. Memory is bounded regardless of the length,
   * and equal content is stored once. If the stream fails, rejects with its error and stores nothing.
   */
  add(content: AsyncIterable<Uint8Array>, options?: AddOptions): Promise<StoredFile>
  /**
   * Opens the content of a CID (v0 or v1, any usual base), or of a path below a directory. Returns null if it isn't
   * stored here, if the path doesn't exist, or if the text isn't a CID, because an HTTP client needs no distinction.
   *
   * @throws StorageUnavailableError
   */
  open(cid: string, path?: readonly string[], options?: OpenOptions): Promise<StoredContent | null>
  /**
   * Returns the bytes of a single block. Returns null if it isn't stored here as a block. The parts of a large file
   * aren't, because they are ranges of the file.
   *
   * @throws StorageUnavailableError
   */
  block(cid: string): Promise<Uint8Array | null>
  /** Returns whether `open` with the option `ours` would find the content of a CID. */
  has(cid: string): Promise<boolean>
  /**
   * Stores blocks unchanged. The caller must have checked their bytes against their CIDs.
   *
   * @param root the CID of the complete content, if everything that is reachable from it is now stored
   */
  putBlocks(blocks: readonly ContentBlock[], root?: string): Promise<void>
  /** Pins content that `open` found, if others could remove it. */
  keep(cid: string): Promise<void>
}

export class ContentTooLargeError extends GdnError {
  readonly maxBytes: number

  constructor(maxBytes: number) {
    super('invalid_input', `the file is larger than ${formatBytes(maxBytes)}`, { hint: 'Use a smaller file.' })
    this.name = 'ContentTooLargeError'
    this.maxBytes = maxBytes
  }
}

/** Thrown if the storage is unreachable or faulty. The problem is temporary, or its operator must fix it. */
export class StorageUnavailableError extends GdnError {
  constructor(message: string, options: GdnErrorOptions = {}) {
    super('unreachable', message, { hint: 'Try again later.', ...options })
    this.name = 'StorageUnavailableError'
  }
}
