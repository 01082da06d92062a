import { BoundedMap } from '../core/bounded-map.ts'
import { parseCid } from '../ipfs/cid.ts'
import { findEntry, isComplete, isDirectory, readNode } from '../ipfs/nodes.ts'
import type { StoredNode } from '../ipfs/unixfs.ts'
import type { OpenArchive } from './read-archive.ts'
import { parseReadableUrl } from './token-uri.ts'

/** Number of cached nodes. The tokens of a collection share the nodes of their directories. */
const MAX_CACHED_NODES = 16

export interface TokenCounts {
  /** Number of tokens whose URI can be read from the blocks. */
  readable: number
  /** Number of tokens whose URI isn't an ipfs URL. */
  notIpfs: number
}

/**
 * Counts the tokens whose URI can be read from the blocks of an archive, and the tokens whose URI isn't an ipfs URL.
 * Doesn't rely on the file entries in the index.
 */
export async function countReadableTokens(archive: OpenArchive): Promise<TokenCounts> {
  const blocks = { get: archive.get, has: async (cid: string) => archive.has(cid) }
  const nodeCache = new BoundedMap<StoredNode>(MAX_CACHED_NODES)
  const read = async (text: string): Promise<StoredNode | null> => {
    const cid = parseCid(text)
    const node = nodeCache.get(text) ?? (cid === null ? null : await readNode(archive, cid))
    if (node !== null) nodeCache.set(text, node)
    return node
  }
  const isReadable = async (cid: string, path: readonly string[]): Promise<boolean> => {
    let node = await read(parseCid(cid)?.toString() ?? '')
    for (const name of path) {
      const entry = node === null ? null : await findEntry((link) => read(link.toString()), node, name)
      node = entry === null ? null : await read(entry.toString())
    }
    return node !== null && !isDirectory(node) && (await isComplete(blocks, node))
  }
  const counts = { readable: 0, notIpfs: 0 }
  for await (const { token_id, uri } of archive.tokens()) {
    if (token_id === null || uri === null) continue
    const url = parseReadableUrl(uri, '')
    if ('problem' in url || url.kind !== 'ipfs') counts.notIpfs++
    // A URI that leads to a malformed node can't be read. Malformed nodes cause many types of errors.
    else if (await isReadable(url.cid, url.path).catch(() => false)) counts.readable++
  }
  return counts
}
