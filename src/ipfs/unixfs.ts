import { decode, type PBNode } from '@ipld/dag-pb'
import { murmur3128 } from '@multiformats/murmur3'
import { UnixFS } from 'ipfs-unixfs'
import type { CID } from 'multiformats/cid'

interface FilePart {
  cid: CID
  size: number
}

export interface NamedLink {
  name: string
  cid: string
  link: CID
}

/** A decoded block. A shard is one of the nodes of a directory that is too large for a single node. */
export type StoredNode =
  | { type: 'bytes'; bytes: Uint8Array }
  | { type: 'file'; size: number; data: Uint8Array; parts: readonly FilePart[] }
  | { type: 'directory'; entries: readonly NamedLink[] }
  | { type: 'shard'; entries: readonly NamedLink[] }

/** Maximum number of links in a shard. All IPFS implementations use this number. */
const SHARD_FANOUT = 256n

/** Decodes a dag-pb block. Returns null for kinds of nodes that gdn doesn't support. */
export function decodeNode(bytes: Uint8Array): StoredNode | null {
  const node = decode(bytes)
  if (node.Data === undefined) return null
  const unixfs = UnixFS.unmarshal(node.Data)
  if (unixfs.type === 'directory') return { type: 'directory', entries: node.Links.map(namedLink) }
  if (unixfs.type === 'hamt-sharded-directory') {
    return unixfs.fanout === SHARD_FANOUT ? { type: 'shard', entries: node.Links.map(namedLink) } : null
  }
  if (unixfs.type !== 'file' && unixfs.type !== 'raw') return null
  const parts = node.Links.map(({ Hash }, index) => ({
    cid: Hash.toV1(),
    size: Number(unixfs.blockSizes[index] ?? 0n),
  }))
  return { type: 'file', size: Number(unixfs.fileSize()), data: unixfs.data ?? new Uint8Array(), parts }
}

function namedLink({ Name, Hash }: PBNode['Links'][number]): NamedLink {
  const link = Hash.toV1()
  return { name: Name ?? '', cid: link.toString(), link }
}

/** Returns the hash of a name in a sharded directory. */
export const hashOfName = (name: string) => murmur3128.encode(Buffer.from(name))

/** Returns whether a dag-pb block can be decoded. */
export function isDecodable(bytes: Uint8Array): boolean {
  try {
    decodeNode(bytes)
    return true
  } catch {
    return false
  }
}
