/** A small piece of stored content: a metadata file, a directory, or the node that lists the parts of a large file. */
export interface Block {
  /** CID v1 in base32, as `CID.toString()` gives it. */
  cid: string
  bytes: Uint8Array
}

/**
 * Where small blocks are kept: a table of the backend's database. Blocks never change, so one that is already there
 * is left alone.
 */
export interface BlockTable {
  get(cid: string): Promise<Uint8Array | null>
  has(cid: string): Promise<boolean>
  /** All of the blocks or none: what a directory or a large file refers to is never missing once it can be found. */
  put(blocks: readonly Block[]): Promise<void>
}
