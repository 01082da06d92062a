import { randomBytes } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { systemCode } from '../../core/errors.ts'
import type { ByteRange, ContentBlock } from '../../ipfs/cid.ts'
import { damagedBlockError, resolveRange } from '../../ipfs/nodes.ts'

const READ_BYTES = 256 * 1024

/** Storage of content in plain files: `files/<2 characters>/<cid>`, and `files/tmp` for unfinished files. */
export interface FlatFiles {
  /** Creates a file for content whose CID isn't known yet. */
  create(): Promise<UnfinishedFile>
  /** Returns whether content of this CID and size is already stored. */
  keeps(cid: string, size: number): Promise<boolean>
  /** Returns the size of a stored file; null if it doesn't exist. */
  size(cid: string): Promise<number | null>
  stream(cid: string, size: number, range?: ByteRange): AsyncIterable<Uint8Array>
}

export interface UnfinishedFile {
  write(bytes: Uint8Array): Promise<void>
  /** Returns the bytes written so far, from `start` to `end`. */
  read(start: number, end: number): AsyncIterable<Uint8Array>
  /**
   * Stores the file under its CID. Syncs the content before renaming the file, so that a CID never refers to a partial
   * file.
   *
   * @param nodes the nodes that list the parts of a large file
   */
  storeAs(cid: string, nodes: readonly ContentBlock[]): Promise<void>
  discard(): Promise<void>
}

/** Age in milliseconds at which an unfinished file counts as left from a crash. Uploads take a few minutes at most. */
const UNFINISHED_FILE_MAX_AGE_MS = 24 * 3600_000

/**
 * Opens the folder and removes files that a crash left unfinished.
 *
 * @param alone whether no other process uses this folder. If not, only files that are a day old count as unfinished
 */
export async function openFlatFiles(dataDir: string, { alone = true } = {}): Promise<FlatFiles> {
  const root = join(dataDir, 'files')
  const unfinished = join(root, 'tmp')
  await mkdir(unfinished, { recursive: true, mode: 0o700 })
  for (const name of await readdir(unfinished)) {
    const path = join(unfinished, name)
    const isLeft =
      alone || Date.now() - ((await stat(path).catch(() => null))?.mtimeMs ?? 0) > UNFINISHED_FILE_MAX_AGE_MS
    if (isLeft) await rm(path, { recursive: true, force: true })
  }

  // The first characters and the last one are similar in all CIDs, so folders are named after the two characters before
  // the last one.
  const pathOf = (cid: string) => join(root, cid.slice(-3, -1), cid)

  return {
    async create() {
      const path = join(unfinished, randomBytes(16).toString('hex'))
      const file = await open(path, 'wx+', 0o600)
      return unfinishedFile(path, file, pathOf)
    },

    keeps: async (cid, size) => (await sizeAt(pathOf(cid))) === size,

    size: (cid) => sizeAt(pathOf(cid)),

    async *stream(cid, size, range = {}) {
      const [start, end] = resolveRange(size, range)
      if (start >= end) return
      const file = await open(pathOf(cid), 'r')
      try {
        yield* readBetween(file, start, end, cid)
      } finally {
        await file.close()
      }
    },
  }
}

async function sizeAt(path: string): Promise<number | null> {
  try {
    const stats = await stat(path)
    return stats.isFile() ? stats.size : null
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null
    throw error
  }
}

async function* readBetween(file: FileHandle, start: number, end: number, cid: string): AsyncGenerator<Uint8Array> {
  for (let at = start; at < end; ) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(Math.min(READ_BYTES, end - at)), { position: at })
    if (bytesRead === 0) throw damagedBlockError(cid)
    at += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

function unfinishedFile(path: string, file: FileHandle, pathOf: (cid: string) => string): UnfinishedFile {
  const discard = async () => {
    await file.close()
    await rm(path, { force: true })
  }
  return {
    async write(bytes) {
      // FileHandle.write may write fewer bytes than it was given.
      for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten
    },

    read: (start, end) => readBetween(file, start, end, path),

    async storeAs(cid) {
      const target = pathOf(cid)
      const folder = dirname(target)
      await file.sync()
      await file.close()
      try {
        await rename(path, target)
      } catch (error) {
        if (systemCode(error) !== 'ENOENT') throw error
        await mkdir(folder, { recursive: true, mode: 0o700 })
        await syncFolder(dirname(folder))
        await rename(path, target)
      }
      await syncFolder(folder)
    },

    discard,
  }
}

/** Makes the names in a folder durable. Does nothing on systems that can't fsync directories, such as Windows. */
async function syncFolder(path: string): Promise<void> {
  let folder: FileHandle | undefined
  try {
    folder = await open(path, 'r')
    await folder.sync()
  } catch (error) {
    if (!['EISDIR', 'EPERM', 'EACCES', 'EINVAL'].includes(systemCode(error) ?? '')) throw error
  } finally {
    await folder?.close()
  }
}
