import type { FileHandle } from 'node:fs/promises'
import { MAX_BLOCK_BYTES } from '../ipfs/cid.ts'

/** The first bytes of each sha2-256 multihash: the code of the hash function, and the length of the digest. */
const MULTIHASH_PREFIX = Buffer.from([0x12, 0x20])
const BLOCK_CODECS = [0x55, 0x70]
const WINDOW_BYTES = 2 ** 20
/** Maximum size of an encoded length in bytes. A length of at most 2 MiB takes at most 4 bytes. */
const MAX_VARINT_BYTES = 4
/**
 * Maximum number of bytes before the multihash in the head of a block, for the block's length, the CID version and the
 * codec.
 */
const MAX_PREFIX_BYTES = MAX_VARINT_BYTES + 2

/**
 * Number of bytes that the search may read, in addition to `SEARCH_BYTES_PER_FILE_BYTE` bytes for each byte of the
 * file. The search is limited, because a malicious file could claim a large block at each byte.
 */
const BASE_SEARCH_BYTES = 2 ** 30
const SEARCH_BYTES_PER_FILE_BYTE = 32

/**
 * Finds the heads of blocks in a damaged file, in order.
 *
 * @param isBlock returns whether an intact block begins at a position
 * @returns a function that returns the position of the first intact block at or after `from`, or null if there is none
 * or if the search takes too long
 */
export function createBlockFinder(file: FileHandle, size: number, isBlock: (offset: number) => Promise<boolean>) {
  let budget = BASE_SEARCH_BYTES + size * SEARCH_BYTES_PER_FILE_BYTE
  return async (from: number): Promise<number | null> => {
    for (let start = from; start < size; start += WINDOW_BYTES) {
      // Consecutive windows overlap by the size of a head.
      const length = Math.min(WINDOW_BYTES + MAX_PREFIX_BYTES + MULTIHASH_PREFIX.length, size - start)
      const { buffer } = await file.read(Buffer.alloc(length), 0, length, start)
      for (let at = buffer.indexOf(MULTIHASH_PREFIX); at >= 0; at = buffer.indexOf(MULTIHASH_PREFIX, at + 1)) {
        for (const head of possibleHeads(buffer, at)) {
          budget -= MAX_BLOCK_BYTES
          if (budget < 0) return null
          if (await isBlock(start + head)) return start + head
        }
      }
    }
    return null
  }
}

/** Yields the positions at which a block's head can begin if the block's multihash is at this position. */
function* possibleHeads(bytes: Buffer, multihash: number): Generator<number> {
  const isVersion1 = bytes[multihash - 2] === 1 && BLOCK_CODECS.includes(bytes[multihash - 1] ?? 0)
  for (const cid of isVersion1 ? [multihash - 2, multihash] : [multihash]) {
    // In an encoded length, all bytes except the last one have the highest bit set.
    for (let head = cid - 1; head >= Math.max(0, cid - MAX_VARINT_BYTES); head--) {
      const isLast = head === cid - 1
      if ((bytes[head] ?? 0) < 0x80 !== isLast) break
      yield head
    }
  }
}
