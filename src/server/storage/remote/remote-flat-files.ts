import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { CID } from 'multiformats/cid'
import { type ByteRange, matchesCid, parseCid, RAW_CODEC } from '../../../ipfs/cid.ts'
import { damagedBlockError, readNode, resolveRange } from '../../../ipfs/nodes.ts'
import type { BlockTable } from '../../store/block-table.ts'
import type { StoredFiles } from '../../store/stored-files.ts'
import { StorageUnavailableError } from '../adapter.ts'
import type { FlatFiles } from '../flat-files.ts'
import type { RemoteFiles } from './remote-files.ts'

export interface RemoteFlatFilesOptions {
  /** Stores content until it is sent. Also contains files that were stored before the remote storage was configured. */
  local: FlatFiles
  remote: RemoteFiles
  stored: StoredFiles
  blocks: BlockTable
}

/**
 * Returns files in remote storage, with their CIDs as keys. Content is buffered in the data directory until its CID is
 * known and the content is sent. Older files are read from the data directory.
 */
export function remoteFlatFiles({ local, remote, stored, blocks }: RemoteFlatFilesOptions): FlatFiles {
  return {
    async create() {
      const spool = await local.create()
      const hash = createHash('sha256')
      let size = 0
      return {
        ...spool,
        async write(bytes) {
          hash.update(bytes)
          size += bytes.length
          await spool.write(bytes)
        },
        async storeAs(cid, nodes) {
          const parsed = parseCid(cid)
          if (parsed === null) throw new Error(`${cid} is not a CID of this storage`)
          await remote.put(parsed, { size, sha256: hash.digest('hex'), read: spool.read })
          // If the process is killed before this call, the content doesn't count as stored. The next attempt finds the
          // content in the remote storage and only records it.
          await stored.put(cid, size, nodes)
          await spool.discard()
        },
      }
    },

    keeps: async (cid, size) => (await stored.size(cid)) === size,

    size: async (cid) => (await stored.size(cid)) ?? (await local.size(cid)),

    async *stream(cid, size, range) {
      const parsed = parseCid(cid)
      if (parsed === null || (await stored.size(cid)) === null) return void (yield* local.stream(cid, size, range))
      yield* readChecked(remote, blocks, { cid: parsed, size }, range)
    },
  }
}

const MAX_ATTEMPTS = 3
const PAUSE_MS = 100

/** A part of a file that has a separate hash. */
interface Leaf {
  cid: CID
  start: number
  end: number
}

/**
 * Reads content from another machine and checks each part against its hash before yielding it. If a response is
 * incomplete, or if a part doesn't match its hash, requests the content again from that part on.
 *
 * @param blocks the table with the nodes that list the parts
 */
async function* readChecked(
  remote: RemoteFiles,
  blocks: BlockTable,
  content: { cid: CID; size: number },
  range?: ByteRange,
): AsyncGenerator<Uint8Array> {
  const [start, end] = resolveRange(content.size, range ?? {})
  if (start >= end) return
  const leaves: Leaf[] = []
  for await (const leaf of findLeaves(blocks, content.cid, 0, content.size)) {
    if (leaf.end > start && leaf.start < end) leaves.push(leaf)
  }
  let done = 0
  for (let attempt = 1; done < leaves.length; attempt++) {
    const before = done
    try {
      for await (const { leaf, bytes } of readLeaves(remote, content.cid, leaves.slice(done))) {
        if (!matchesCid(leaf.cid, bytes)) throw new WrongBytesError()
        yield bytes.subarray(Math.max(0, start - leaf.start), end - leaf.start)
        done += 1
      }
    } catch (error) {
      if (done > before) attempt = 1
      if (error instanceof WrongBytesError && attempt >= MAX_ATTEMPTS) throw damagedBlockError(content.cid.toString())
      if (
        !(error instanceof WrongBytesError) &&
        (attempt >= MAX_ATTEMPTS || !(error instanceof StorageUnavailableError))
      ) {
        throw error
      }
      await delay(PAUSE_MS)
    }
  }
}

class WrongBytesError extends Error {}

/** Requests all parts in one request and splits the response. */
async function* readLeaves(remote: RemoteFiles, cid: CID, leaves: readonly Leaf[]) {
  const [first] = leaves
  const last = leaves.at(-1)
  if (first === undefined || last === undefined) return
  let next = 0
  let leaf: Leaf | undefined = first
  let buffer = Buffer.alloc(first.end - first.start)
  let filled = 0
  for await (const part of remote.read(cid, first.start, last.end)) {
    for (let at = 0; at < part.length && leaf !== undefined; ) {
      const byteCount = Math.min(part.length - at, buffer.length - filled)
      buffer.set(part.subarray(at, at + byteCount), filled)
      filled += byteCount
      at += byteCount
      if (filled < buffer.length) continue
      yield { leaf, bytes: buffer }
      leaf = leaves[++next]
      buffer = Buffer.alloc(leaf === undefined ? 0 : leaf.end - leaf.start)
      filled = 0
    }
  }
  if (leaf !== undefined) throw new StorageUnavailableError(`${remote.name} ended the response in the middle of ${cid}`)
}

async function* findLeaves(blocks: BlockTable, cid: CID, start: number, size: number): AsyncGenerator<Leaf> {
  if (cid.code === RAW_CODEC) return void (yield { cid, start, end: start + size })
  const node = await readNode(blocks, cid)
  if (node?.type !== 'file' || node.data.length > 0) throw damagedBlockError(cid.toString())
  let at = start
  for (const part of node.parts) {
    yield* findLeaves(blocks, part.cid, at, part.size)
    at += part.size
  }
}
