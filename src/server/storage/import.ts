import { type ImporterOptions, importFile } from 'ipfs-unixfs-importer'
import type { CID } from 'multiformats/cid'
import type { Block } from '../store/block-table.ts'
import { RAW } from './cid.ts'

/** What `ipfs add --cid-version=1` does: parts of 256 KiB, 174 to a node, raw leaves. Fresh: the importer writes to it. */
export const importOptions = (): ImporterOptions => ({ profile: 'unixfs-v0-2015', cidVersion: 1, rawLeaves: true })

export interface ImportedFile {
  cid: CID
  /** The nodes that hold a large file together. The leaves, the content itself, are left out. */
  nodes: Block[]
}

/**
 * The CID of a stream. Memory is bounded: a few parts at a time, and the nodes, about 1/5000 of the content.
 */
export async function importStream(content: AsyncIterable<Uint8Array>): Promise<ImportedFile> {
  const nodes: Block[] = []
  const keepNodes = {
    async put(cid: CID, bytes: unknown): Promise<CID> {
      if (cid.code !== RAW) nodes.push({ cid: cid.toString(), bytes: blockBytes(bytes) })
      return cid
    },
  }
  const { cid } = await importFile({ content }, keepNodes, { ...importOptions(), blockWriteConcurrency: 4 })
  return { cid, nodes }
}

/** The importer always hands over whole blocks; its interface would allow streams of them. */
export function blockBytes(bytes: unknown): Uint8Array {
  if (bytes instanceof Uint8Array) return bytes
  throw new TypeError('the importer gave a block in pieces')
}
