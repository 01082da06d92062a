import type { FileHandle } from 'node:fs/promises'
import { createWriter, headerLength } from '@ipld/car/buffer-writer'
import type { CID } from 'multiformats/cid'
import { writeDurably } from '../core/durable-file.ts'
import { GdnError } from '../core/errors.ts'
import { parseCid } from '../ipfs/cid.ts'
import type { ArchivedCollection, ArchiveStore } from './archive-store.ts'
import { type IndexHeader, indexHeader, indexTokens } from './index-lines.ts'
import { blocksBelow } from './ipfs-dag.ts'

export interface WrittenArchive extends IndexHeader {
  /** The CID of the index, which is the root of the file. */
  root: string
  blocks: number
  bytes: number
}

const BUFFER_BYTES = 1024 * 1024

/**
 * Writes the archive as a CARv1 file whose root is the index. The index comes first, followed by the blocks of each
 * token in order, each block once. Equal content in the store results in equal bytes.
 */
export async function writeArchive(
  store: ArchiveStore,
  archived: ArchivedCollection,
  path: string,
  signal: AbortSignal,
): Promise<WrittenArchive> {
  const header = indexHeader(store, archived)
  const root = await importIndex(store, header)
  let written = { blocks: 0, bytes: 0 }
  await writeDurably(path, async (file) => {
    const car = new CarFile(file, root)
    for await (const { cid, bytes } of blocksBelow(
      root,
      async (blockCid) => storedBlock(store, blockCid),
      Number.POSITIVE_INFINITY,
    ))
      await car.put(toReferencedCid(store, cid), bytes)
    for (const cid of findReachedCids(store)) {
      signal.throwIfAborted()
      await car.put(toReferencedCid(store, cid), storedBlock(store, cid))
    }
    await car.flush()
    written = { blocks: car.blockCount, bytes: car.byteCount }
  })
  return { ...header, ...written, root: root.toString() }
}

/** Stores the index as an IPFS file, and returns the file's CID. */
async function importIndex(store: ArchiveStore, header: IndexHeader): Promise<CID> {
  function* lines() {
    yield Buffer.from(`${JSON.stringify(header)}\n`)
    for (const token of indexTokens(store)) yield Buffer.from(`${JSON.stringify(token)}\n`)
  }
  const { importBlocks } = await import('../ipfs/import.ts')
  const { cid } = await importBlocks(lines(), (block) => store.putBlock(block))
  return cid
}

/** Yields the CIDs of all blocks that tokens need, each once. */
function* findReachedCids(store: ArchiveStore): Generator<string> {
  store.run('CREATE TEMP TABLE IF NOT EXISTS written (name TEXT PRIMARY KEY) WITHOUT ROWID')
  store.run('DELETE FROM written')
  const isNew = (name: string) => {
    if (store.all('SELECT 1 AS n FROM written WHERE name = ?', name).length > 0) return false
    store.run('INSERT INTO written VALUES (?)', name)
    return true
  }
  for (const { token } of store.tokens()) {
    for (const { source } of store.filesOf(token)) {
      if (source === null || !isNew(`source ${source}`)) continue
      for (const cid of store.blockCidsOf(source)) if (isNew(cid)) yield cid
    }
  }
}

function storedBlock(store: ArchiveStore, cid: string): Uint8Array {
  const bytes = store.block(cid)
  if (bytes !== null) return bytes
  throw new GdnError('unexpected', `block ${cid} is missing from the unfinished archive`, {
    hint: 'Delete the unfinished archive, and run the command again.',
  })
}

/** Returns a CID in the version that tokens or other blocks use to refer to it. */
function toReferencedCid(store: ArchiveStore, text: string): CID {
  const cid = parseCid(text)
  if (cid === null) throw new GdnError('unexpected', `${text} is not a valid CID for an archive`)
  return store.isFirstVersion(text) ? cid.toV0() : cid
}

/** A CARv1 file that is written sequentially. */
class CarFile {
  readonly #file: FileHandle
  #parts: Uint8Array[]
  #size: number
  blockCount = 0
  byteCount = 0

  constructor(file: FileHandle, root: CID) {
    const options = { roots: [root] }
    const header = createWriter(new ArrayBuffer(headerLength(options)), options).close()
    this.#file = file
    this.#parts = [header]
    this.#size = header.length
    this.byteCount = header.length
  }

  async put(cid: CID, bytes: Uint8Array): Promise<void> {
    const parts = [varint(cid.bytes.length + bytes.length), cid.bytes, bytes]
    const size = parts.reduce((sum, part) => sum + part.length, 0)
    this.#parts.push(...parts)
    this.#size += size
    this.byteCount += size
    this.blockCount++
    if (this.#size >= BUFFER_BYTES) await this.flush()
  }

  async flush(): Promise<void> {
    await this.#file.appendFile(Buffer.concat(this.#parts))
    this.#parts = []
    this.#size = 0
  }
}

/** Encodes an unsigned number as LEB128. */
function varint(value: number): Uint8Array {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80)
  return Uint8Array.from([...bytes, rest])
}
