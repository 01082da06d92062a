import type { CID } from 'multiformats/cid'
import { matchesCid, parseCid, RAW_CODEC, rawCid } from '../../ipfs/cid.ts'
import { damagedBlockError, findEntry, isComplete, readNode, streamNode } from '../../ipfs/nodes.ts'
import type { BlockTable } from '../store/block-table.ts'
import type { StoredFiles } from '../store/stored-files.ts'
import {
  type AddOptions,
  ContentTooLargeError,
  type FileStorage,
  type StoredContent,
  type StoredFile,
} from './adapter.ts'
import { PART_BYTES } from './directory.ts'
import { type FlatFiles, openFlatFiles } from './flat-files.ts'
import type { NodeBlocks, RemoteFiles } from './remote/remote-files.ts'
import { remoteFlatFiles } from './remote/remote-flat-files.ts'

/**
 * Maximum size in bytes of a file in the block table. Databases store small files more efficiently than file systems.
 */
export const SMALL_FILE_BYTES = 16 * 1024

export interface FileStorageOptions {
  dataDir: string
  blocks: BlockTable
  /**
   * Whether this process is the only one that uses the data directory. If so, unfinished files in it are left from a
   * crash. Default: true.
   */
  alone?: boolean
  /**
   * The remote storage for larger files, which replaces the data directory. Files that are already in the data
   * directory are read from there.
   */
  remote?: { files: RemoteFiles; stored: StoredFiles } | undefined
  /** Called before a larger file is stored. If it throws, the file isn't stored. */
  beforeLarge?: (() => Promise<void>) | undefined
  /** Called for all added content before `add` or `putBlocks` resolves, so that the caller can record it. */
  onAdded?: ((cid: string, where: 'blocks' | 'files') => Promise<void>) | undefined
}

/**
 * Creates the storage of a backend. Small files and directories are in the block table. Larger files are in the data
 * directory, in a bucket or in an IPFS node.
 *
 * The parts of a large file have no separate CIDs in this storage, because they are only ranges of the flat file.
 */
export async function createFileStorage(options: FileStorageOptions): Promise<FileStorage> {
  const { dataDir, blocks: ownBlocks, alone = true, remote, beforeLarge, onAdded = async () => {} } = options
  const local = await openFlatFiles(dataDir, { alone })
  const files =
    remote === undefined
      ? local
      : remoteFlatFiles({ local, blocks: ownBlocks, remote: remote.files, stored: remote.stored })
  const nodeBlocks = remote?.files.nodeBlocks

  const openCid = async (cid: CID, blocks: BlockTable): Promise<StoredContent | null> => {
    const key = cid.toString()
    // Prefer own blocks to a flat file, as `block` does, because blocks are checked when they are read. Otherwise, a
    // damaged flat file would still be served after its blocks were restored.
    const restored = await openBlocks(cid, ownBlocks)
    if (restored !== null) return restored
    const size = await files.size(key)
    if (size !== null) return { type: 'file', cid: key, size, stream: (range) => files.stream(key, size, range) }
    return blocks === ownBlocks ? null : openBlocks(cid, blocks)
  }

  return {
    async add(content, options = {}) {
      const limited = limit(content, options)[Symbol.asyncIterator]()
      try {
        const { head, complete } = await readHead(limited)
        const isSmall = complete && head.length <= SMALL_FILE_BYTES
        if (!isSmall) await beforeLarge?.()
        const added = isSmall
          ? await addSmall(ownBlocks, head)
          : complete
            ? await addPart(files, head)
            : await addLarge(files, ownBlocks, head, limited)
        await onAdded(added.cid, isSmall ? 'blocks' : 'files')
        return added
      } finally {
        await limited.return()
      }
    },

    async open(text, path = [], { ownOnly = false } = {}) {
      const blocks = nodeBlocks === undefined || ownOnly ? ownBlocks : withNodeBlocks(ownBlocks, nodeBlocks)
      let cid = parseCid(text)
      for (const name of path) {
        const node = cid && (await readNode(blocks, cid))
        cid = node && (await findEntry((child) => readNode(blocks, child), node, name))
      }
      return cid && openCid(cid, blocks)
    },

    async block(text) {
      const cid = parseCid(text)
      if (cid === null) return null
      const bytes = await (nodeBlocks === undefined ? ownBlocks : withNodeBlocks(ownBlocks, nodeBlocks)).get(
        cid.toString(),
      )
      if (bytes !== null && !matchesCid(cid, bytes)) throw damagedBlockError(cid.toString())
      return bytes ?? (cid.code === RAW_CODEC ? await wholeFile(files, cid.toString()) : null)
    },

    async has(text) {
      const cid = parseCid(text)
      return cid !== null && (await openCid(cid, ownBlocks)) !== null
    },

    async putBlocks(blocks, root) {
      await ownBlocks.put(blocks)
      if (root !== undefined) await onAdded(root, 'blocks')
    },

    async pin(text) {
      const cid = parseCid(text)
      if (nodeBlocks === undefined || cid === null || (await openCid(cid, ownBlocks)) !== null) return
      await nodeBlocks.pin(cid)
    },
  }
}

/**
 * Returns a block table that reads missing blocks from remote storage. Other programs may also write to it, so the
 * caller must check its blocks.
 */
function withNodeBlocks(ownBlocks: BlockTable, nodeBlocks: NodeBlocks): BlockTable {
  const readRemote = async (text: string) => {
    const cid = parseCid(text)
    return cid === null ? null : await nodeBlocks.block(cid)
  }
  return {
    get: async (cid) => (await ownBlocks.get(cid)) ?? (await readRemote(cid)),
    // Only a read shows whether a block exists remotely.
    has: async () => true,
    put: (blocks) => ownBlocks.put(blocks),
  }
}

/** Opens the content of a CID whose blocks are all in a table. */
async function openBlocks(cid: CID, blocks: BlockTable): Promise<StoredContent | null> {
  const node = await readNode(blocks, cid)
  if (node === null || !(await isComplete(blocks, node))) return null
  // Sharded directories come from other programs, and only some of their shards are in this storage. A sharded
  // directory can't be opened, but paths can lead through it.
  if (node.type === 'shard') return null
  const key = cid.toString()
  if (node.type === 'directory') {
    return { type: 'directory', cid: key, entries: node.entries.map(({ name, cid }) => ({ name, cid })) }
  }
  return {
    type: 'file',
    cid: key,
    size: node.type === 'bytes' ? node.bytes.length : node.size,
    stream: (range) => streamNode(blocks, cid, node, range),
  }
}

/** Returns the content of a file that is a single part. */
async function wholeFile(files: FlatFiles, cid: string): Promise<Uint8Array | null> {
  const size = await files.size(cid)
  if (size === null || size > PART_BYTES) return null
  const parts: Uint8Array[] = []
  for await (const part of files.stream(cid, size)) parts.push(part)
  return Buffer.concat(parts)
}

async function* limit(content: AsyncIterable<Uint8Array>, { maxBytes = Infinity }: AddOptions) {
  let size = 0
  for await (const bytes of content) {
    size += bytes.length
    if (size > maxBytes) throw new ContentTooLargeError(maxBytes)
    if (bytes.length > 0) yield bytes
  }
}

/** Reads until the content ends or exceeds one part. */
async function readHead(content: AsyncIterator<Uint8Array>): Promise<{ head: Buffer; complete: boolean }> {
  const parts: Uint8Array[] = []
  let size = 0
  while (size <= PART_BYTES) {
    const next = await content.next()
    if (next.done) return { head: Buffer.concat(parts), complete: true }
    parts.push(next.value)
    size += next.value.length
  }
  return { head: Buffer.concat(parts), complete: false }
}

async function addSmall(blocks: BlockTable, bytes: Uint8Array): Promise<StoredFile> {
  const cid = rawCid(bytes).toString()
  await blocks.put([{ cid, bytes }])
  return { cid, size: bytes.length }
}

/** Stores a file that is a single part, so that its CID is the CID of the part. */
async function addPart(files: FlatFiles, bytes: Uint8Array): Promise<StoredFile> {
  const cid = rawCid(bytes).toString()
  if (!(await files.keeps(cid, bytes.length))) {
    const file = await files.create()
    try {
      await file.write(bytes)
      await file.storeAs(cid, [])
    } catch (error) {
      await file.discard()
      throw error
    }
  }
  return { cid, size: bytes.length }
}

async function addLarge(
  files: FlatFiles,
  blocks: BlockTable,
  head: Uint8Array,
  rest: AsyncIterator<Uint8Array>,
): Promise<StoredFile> {
  const file = await files.create()
  let size = 0
  async function* recordWrite() {
    for (let bytes = head; ; ) {
      await file.write(bytes)
      size += bytes.length
      yield bytes
      const next = await rest.next()
      if (next.done) return
      bytes = next.value
    }
  }
  try {
    const { importStream } = await import('../../ipfs/import.ts')
    const { cid, nodes } = await importStream(recordWrite())
    const key = cid.toString()
    if (await files.keeps(key, size)) await file.discard()
    else await file.storeAs(key, nodes)
    // Store the nodes after the file, because a node in the table implies that all parts that it lists can be read.
    if (nodes.length > 0) await blocks.put(nodes)
    return { cid: key, size }
  } catch (error) {
    await file.discard()
    throw error
  }
}
