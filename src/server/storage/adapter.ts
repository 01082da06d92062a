import { GdnError, type GdnErrorOptions } from '../../core/errors.ts'
import { formatBytes } from '../../core/format-bytes.ts'
import type { ByteRange, ContentBlock } from '../../ipfs/cid.ts'

/** The result of storing a file. Equal content has the same CID, which `ipfs add --cid-version=1` would also return. */
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
  /** Whether to open only content that this storage has, without querying another source. */
  ownOnly?: boolean
}

/**
 * A content-addressed file storage. Content never changes and is never removed, so content that was found once stays
 * available. Small content is in the database. Larger files are in a data directory, a bucket or an IPFS node.
 */
export interface FileStorage {
  /**
   * Stores a stream and resolves with its CID when the content is durable. Memory use is bounded regardless of the
   * length, and equal content is stored once. If the stream fails, rejects with the stream's error and stores nothing.
   */
  add(content: AsyncIterable<Uint8Array>, options?: AddOptions): Promise<StoredFile>
  /**
   * Opens the content of a CID (v0 or v1, any usual base), or of a path below a directory. Returns null if the content
   * isn't in this storage, if the path doesn't exist, or if `cid` isn't a CID, because HTTP clients get the same
   * response in these cases.
   *
   * @throws StorageUnavailableError
   */
  open(cid: string, path?: readonly string[], options?: OpenOptions): Promise<StoredContent | null>
  /**
   * Returns the bytes of a single block. Returns null if this storage doesn't have it as a block. The parts of a large
   * file aren't stored as blocks, because they are ranges of the file.
   *
   * @throws StorageUnavailableError
   */
  block(cid: string): Promise<Uint8Array | null>
  /** Returns whether `open` with the option `ownOnly` would find the content of a CID. */
  has(cid: string): Promise<boolean>
  /**
   * Stores blocks unchanged. The caller must have checked their bytes against their CIDs.
   *
   * @param root the CID of the complete content, if everything that is reachable from it is now stored
   */
  putBlocks(blocks: readonly ContentBlock[], root?: string): Promise<void>
  /** Pins content that `open` found, if other users of the storage could remove it. */
  pin(cid: string): Promise<void>
}

export class ContentTooLargeError extends GdnError {
  readonly maxBytes: number

  constructor(maxBytes: number) {
    super('invalid_input', `the file is larger than ${formatBytes(maxBytes)}`, { hint: 'Use a smaller file.' })
    this.name = 'ContentTooLargeError'
    this.maxBytes = maxBytes
  }
}

/** Thrown if the storage is unreachable or faulty. The problem is temporary, or the storage's operator must fix it. */
export class StorageUnavailableError extends GdnError {
  constructor(message: string, options: GdnErrorOptions = {}) {
    super('unreachable', message, { hint: 'Try again later.', ...options })
    this.name = 'StorageUnavailableError'
  }
}
