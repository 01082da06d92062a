/** A small part of stored content: a small file, a directory, or the node that lists the parts of a large file. */
export interface ContentBlock {
  /** CID v1 in base32, as returned by `CID.toString()`. */
  cid: string
  bytes: Uint8Array
}

/** Where blocks are read from. */
export interface BlockReader {
  get(cid: string): Promise<Uint8Array | null>
  has(cid: string): Promise<boolean>
}

/** A range from `start` to `end` (exclusive), clamped to the length of the content. */
export interface ByteRange {
  start?: number
  end?: number
}
