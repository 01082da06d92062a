import type { CID } from 'multiformats/cid'

/** IPFS implementations transfer at most 2 MiB per block. */
export const MAX_BLOCK_BYTES = 2 * 1024 * 1024

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

/** Receives a block whose bytes are not checked. */
export type TakeBlock = (cid: CID, bytes: Uint8Array) => void

/** A range from `start` to `end` (exclusive), clamped to the length of the content. */
export interface ByteRange {
  start?: number
  end?: number
}
