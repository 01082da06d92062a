import { importFile } from 'ipfs-unixfs-importer'
import type { CID } from 'multiformats/cid'
import { importOptions } from '../files/ipfs-import.ts'
import { type ContentBlock, RAW_CODEC } from './cid.ts'

export interface ImportedFile {
  cid: CID
  /** The inner nodes of a large file. Doesn't include the leaves, because they are the content itself. */
  nodes: ContentBlock[]
}

/**
 * Returns the CID of a stream and the nodes of its tree. Keeps only a few parts in memory at a time, plus the nodes,
 * whose size is about 1/5000 of the content's size.
 */
export async function importStream(content: AsyncIterable<Uint8Array>): Promise<ImportedFile> {
  const nodes: ContentBlock[] = []
  const keepNodes = {
    async put(cid: CID, bytes: unknown): Promise<CID> {
      if (cid.code !== RAW_CODEC) nodes.push({ cid: cid.toString(), bytes: blockBytes(bytes) })
      return cid
    },
  }
  const { cid } = await importFile({ content }, keepNodes, { ...importOptions(), blockWriteConcurrency: 4 })
  return { cid, nodes }
}

/**
 * Returns the CID of a file of any size, and the number of bytes below the CID. Calls `onBlock` with each block of the
 * file.
 */
export async function importBlocks(
  content: Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  onBlock: (block: ContentBlock) => void,
): Promise<{ cid: CID; size: number }> {
  const collect = {
    async put(cid: CID, block: unknown): Promise<CID> {
      onBlock({ cid: cid.toString(), bytes: blockBytes(block) })
      return cid
    },
  }
  const { cid, size } = await importFile({ content }, collect, importOptions())
  return { cid, size: Number(size) }
}

/** Returns the bytes of a block. The importer always returns whole blocks, although its types also allow streams. */
function blockBytes(bytes: unknown): Uint8Array {
  if (bytes instanceof Uint8Array) return bytes
  throw new TypeError('the importer returned a block in pieces')
}
