import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { CID } from 'multiformats/cid'
import { parseCid } from '../../../ipfs/cid.ts'
import type { StoredFiles } from '../../store/stored-files.ts'
import type { RemoteFiles, SpooledContent } from './remote-files.ts'

/**
 * Sends the files of a data directory, one after the other, to a storage that all processes of its database can access.
 * Skips existing files, and doesn't remove any file from the data directory.
 *
 * @returns the number of files that were sent
 */
export async function sendLocalFiles(options: {
  dataDir: string
  remote: Pick<RemoteFiles, 'put'>
  stored: StoredFiles
  signal: AbortSignal
}): Promise<number> {
  const { dataDir, remote, stored, signal } = options
  let sentCount = 0
  for await (const files of foldersOf(join(dataDir, 'files'))) {
    // Query the database once per folder, because every start checks all files again.
    const storedCids = await stored.filterStored(files.map(({ cid }) => cid.toString()))
    for (const { cid, path } of files) {
      if (storedCids.has(cid.toString())) continue
      signal.throwIfAborted()
      const { size } = await stat(path)
      await remote.put(cid, await openSpooledFile(path, size))
      // Pass no nodes, because the node that lists the parts has been in the database since the file was stored.
      await stored.put(cid.toString(), size, [])
      sentCount += 1
    }
    signal.throwIfAborted()
  }
  return sentCount
}

async function* foldersOf(root: string): AsyncGenerator<{ cid: CID; path: string }[]> {
  for (const folder of await readdir(root)) {
    if (folder.length !== 2) continue
    yield (await readdir(join(root, folder))).flatMap((name) => {
      const cid = parseCid(name)
      return cid === null ? [] : [{ cid, path: join(root, folder, name) }]
    })
  }
}

async function openSpooledFile(path: string, size: number): Promise<SpooledContent> {
  const hash = createHash('sha256')
  for await (const bytes of createReadStream(path)) hash.update(bytes)
  return {
    size,
    sha256: hash.digest('hex'),
    async *read(start, end) {
      // This `end` is inclusive, so it can't express an empty range.
      if (start < end) yield* createReadStream(path, { start, end: end - 1 })
    },
  }
}
