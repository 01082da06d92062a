import { GdnError, type GdnErrorOptions } from '../../core/errors.ts'
import { formatBytes } from '../../core/format-bytes.ts'
import type { Block } from '../store/block-table.ts'

/** What storing a file tells: equal content gives an equal CID, the one that `ipfs add --cid-version=1` gives. */
export interface StoredFile {
  cid: string
  /** Bytes of the content. */
  size: number
}

/** Bytes `start` up to, not including, `end`, as `slice` takes them; beyond the end is cut off. */
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
  /** The most bytes that are taken; more is a {@link ContentTooLargeError}, and nothing stays behind. */
  maxBytes?: number
}

export interface OpenOptions {
  /** Only what this storage keeps itself: nobody else is asked. */
  ours?: boolean
}

/**
 * Where content lives under its CID. Content never changes and is never removed, so what was found once stays found.
 * The seam behind which a data dir, a bucket or an IPFS node stands.
 */
export interface FileStorage {
  /**
   * Stores a stream and tells its CID once the content would survive a crash. Memory stays bounded, whatever the
   * length; equal content is stored once. An error of the stream is passed on and leaves nothing behind.
   */
  add(content: AsyncIterable<Uint8Array>, options?: AddOptions): Promise<StoredFile>
  /**
   * The content of a CID (v0 or v1, any usual base), or of a path below a directory. Null when it isn't stored here,
   * when the path leads nowhere, and for text that is no CID: who asks by URL can't tell these apart anyway.
   *
   * @throws StorageUnavailableError
   */
  open(cid: string, path?: readonly string[], options?: OpenOptions): Promise<StoredContent | null>
  /** Whether `open(cid)` would find something. */
  has(cid: string): Promise<boolean>
  /**
   * Stores blocks whose bytes were checked against their CIDs, as they are.
   *
   * @param root what they belong to, once everything that it leads to is stored
   */
  putBlocks(blocks: readonly Block[], root?: string): Promise<void>
  /** Sees to it that content which `open` found stays, where somebody else might throw it away. */
  keep(cid: string): Promise<void>
}

/** More content than was allowed. */
export class ContentTooLargeError extends GdnError {
  readonly maxBytes: number

  constructor(maxBytes: number) {
    super('invalid_input', `the file is larger than ${formatBytes(maxBytes)}`, { hint: 'use a smaller file' })
    this.name = 'ContentTooLargeError'
    this.maxBytes = maxBytes
  }
}

/** The storage can't be reached, or doesn't do what it should now: it passes, or somebody who runs it mends it. */
export class StorageUnavailableError extends GdnError {
  constructor(message: string, options: GdnErrorOptions = {}) {
    super('unreachable', message, { hint: 'try again later', ...options })
    this.name = 'StorageUnavailableError'
  }
}
