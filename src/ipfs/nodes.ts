import type { CID } from 'multiformats/cid'
import { GdnError } from '../core/errors.ts'
import { type BlockReader, type ByteRange, DAG_PB_CODEC, matchesCid, parseCid, RAW_CODEC } from './cid.ts'
import type { NamedLink, StoredNode } from './unixfs.ts'

/**
 * Returns a decoded block. To detect damage, checks the block against its CID. This is fast, because hashing a few KiB
 * takes only microseconds. Returns null if the block doesn't exist, or if gdn doesn't support its kind of node, such as
 * a symbolic link.
 */
export async function readNode(blocks: Pick<BlockReader, 'get'>, cid: CID): Promise<StoredNode | null> {
  const bytes = await blocks.get(cid.toString())
  if (bytes === null) return null
  if (!matchesCid(cid, bytes)) throw damagedBlockError(cid.toString())
  if (cid.code === RAW_CODEC) return { type: 'bytes', bytes }
  return cid.code === DAG_PB_CODEC ? (await import('./unixfs.ts')).decodeNode(bytes) : null
}

/** Number of bytes in the hash of a name. The hash is murmur3-x64-64, which is the first half of the 128-bit hash. */
const HASH_BYTES = 8

/**
 * Returns the CID of a name in a directory; null if the name doesn't exist. At each level of a sharded directory, the
 * next byte of the name's hash, in hex, is the prefix of the link names. The name of a link to a shard is only the
 * prefix. The name of a link to an entry is the prefix followed by the entry's name.
 *
 * @see https://specs.ipfs.tech/unixfs/#hamt-structure-and-parameters
 */
export async function findEntry(
  read: (cid: CID) => Promise<StoredNode | null>,
  directory: StoredNode,
  name: string,
): Promise<CID | null> {
  if (directory.type === 'directory') return directory.entries.find((entry) => entry.name === name)?.link ?? null
  const hash = directory.type === 'shard' ? await (await import('./unixfs.ts')).hashOfName(name) : []
  let node: StoredNode | null = directory
  for (const byte of hash.slice(0, HASH_BYTES)) {
    if (node?.type !== 'shard') return null
    const prefix = byte.toString(16).padStart(2, '0').toUpperCase()
    const entry: NamedLink | undefined = node.entries.find((link) => link.name.startsWith(prefix))
    if (entry === undefined) return null
    if (entry.name !== prefix) return entry.name === prefix + name ? entry.link : null
    node = await read(entry.link)
  }
  return null
}

/**
 * Returns whether every part of a file is in the block table. The content of a large file may be in a flat file. The
 * table then contains only the inner nodes, so the file can't be read from the table alone.
 */
export async function isComplete(
  blocks: BlockReader,
  node: StoredNode,
  visited: Set<string> = new Set(),
): Promise<boolean> {
  if (node.type !== 'file') return true
  for (const { cid } of node.parts) {
    const key = cid.toString()
    // Check each node only once. A node may be referenced many times, so a few blocks could otherwise cause a very long
    // traversal.
    if (visited.has(key)) continue
    visited.add(key)
    if (cid.code === RAW_CODEC ? !(await blocks.has(key)) : !(await isCompletePart(blocks, cid, visited))) return false
  }
  return true
}

async function isCompletePart(blocks: BlockReader, cid: CID, visited: Set<string>): Promise<boolean> {
  const node = await readNode(blocks, cid)
  return node !== null && isComplete(blocks, node, visited)
}

export const isDirectory = (node: StoredNode): node is Extract<StoredNode, { type: 'directory' | 'shard' }> =>
  node.type === 'directory' || node.type === 'shard'

/**
 * Maximum number of levels of a file's tree. With 174 parts per node, a balanced tree of 7 levels contains a petabyte.
 */
const MAX_NODE_LEVELS = 32

/**
 * Thrown if a file's tree is deeper than that of any real file. Reading the file would be slow, because each byte
 * passes through all levels.
 */
export class TooDeepError extends Error {
  constructor(cid: CID) {
    super(`the file ${cid} has a tree of more than ${MAX_NODE_LEVELS} levels`)
  }
}

/**
 * Yields the content of a file in order. All parts of the file must be in the block table. Doesn't read parts outside
 * the range.
 *
 * @throws TooDeepError
 */
export async function* streamNode(
  blocks: Pick<BlockReader, 'get'>,
  cid: CID,
  node: Exclude<StoredNode, { type: 'directory' | 'shard' }>,
  range: ByteRange = {},
  level = 1,
): AsyncGenerator<Uint8Array> {
  if (level > MAX_NODE_LEVELS) throw new TooDeepError(cid)
  const ownBytes = node.type === 'bytes' ? node.bytes : node.data
  const [start, end] = resolveRange(node.type === 'bytes' ? ownBytes.length : node.size, range)
  if (start < ownBytes.length && start < end) yield ownBytes.subarray(start, end)
  if (node.type === 'bytes') return

  let at = ownBytes.length
  for (const part of node.parts) {
    const partEnd = at + part.size
    if (partEnd > start && at < end) {
      const child = await readNode(blocks, part.cid)
      if (child === null || isDirectory(child)) throw damagedBlockError(cid.toString())
      yield* streamNode(blocks, part.cid, child, { start: start - at, end: end - at }, level + 1)
    }
    at = partEnd
  }
}

/**
 * Returns all blocks in the block table that are reachable from a CID, each block once; null if the table doesn't
 * contain the CID.
 */
export async function blocksBelow(
  blocks: BlockReader,
  root: string,
): Promise<{ cid: CID; bytes: Uint8Array }[] | null> {
  const first = parseCid(root)
  if (first === null || !(await blocks.has(root))) return null
  const below = new Map<string, { cid: CID; bytes: Uint8Array }>()
  const waiting = [first]
  for (let cid = waiting.pop(); cid !== undefined; cid = waiting.pop()) {
    const key = cid.toString()
    const bytes = below.has(key) ? null : await blocks.get(key)
    if (bytes === null) continue
    below.set(key, { cid, bytes })
    const node = await readNode(blocks, cid)
    if (node !== null && isDirectory(node)) waiting.push(...node.entries.map(({ link }) => link))
    if (node?.type === 'file') waiting.push(...node.parts.map((part) => part.cid))
  }
  return [...below.values()]
}

/** Returns a range clamped to the available bytes. */
export function resolveRange(size: number, range: ByteRange): [start: number, end: number] {
  return [Math.max(0, range.start ?? 0), Math.min(size, range.end ?? size)]
}

/** Returns the error for stored content that doesn't match its CID. */
export function damagedBlockError(cid: string): GdnError {
  return new GdnError('unexpected', `stored content ${cid} is damaged`, {
    hint: 'Restore the data directory from a backup, or store the file again.',
  })
}
