import { BoundedMap } from '../core/bounded-map.ts'
import { FetchFailure } from '../files/failure.ts'
import { parseCid } from '../ipfs/cid.ts'
import type { StoredNode } from '../ipfs/unixfs.ts'
import type { ArchiveStore } from './archive-store.ts'
import { fetchArchivedFile, findFirstVersions, StoredDag } from './ipfs-dag.ts'
import type { OpenArchive } from './read-archive.ts'
import { parseReadableUrl } from './token-uri.ts'

/**
 * Adds an existing archive to the store of the archive that replaces it. Adds the blocks, which were checked against
 * their CIDs, and the CIDs of the URLs' content. Content without references isn't written to the new archive.
 *
 * @returns the number of files that the existing archive has
 */
export async function seedStore(store: ArchiveStore, archive: OpenArchive, signal: AbortSignal): Promise<number> {
  for await (const { cid, bytes } of archive.all()) {
    signal.throwIfAborted()
    store.putBlock({ cid: cid.toString(), bytes }, findFirstVersions(cid.toString(), bytes))
  }
  let files = 0
  for await (const token of archive.tokens()) {
    for (const { url, cid } of token.files) {
      if (cid === undefined) continue
      files++
      const readable = parseReadableUrl(url, '')
      if ('kind' in readable && readable.kind !== 'data') store.addPreviousCid(readable.key, cid)
    }
  }
  return files
}

/**
 * Stores the content that the existing archive has for a web URL that can't be read now.
 *
 * @returns false if the existing archive doesn't have the content
 */
export async function keepPrevious(
  store: ArchiveStore,
  key: string,
  { maxBytes, signal }: { maxBytes: number; signal: AbortSignal },
): Promise<boolean> {
  const root = parseCid(store.findPreviousCid(key) ?? '')
  if (root === null) return false
  const absent = async () => {
    throw new FetchFailure('the file is missing from the existing archive', { isLasting: true })
  }
  const gateways = { block: absent, blocksOf: async () => undefined, file: absent }
  const source = {
    store,
    gateways,
    put: () => undefined,
    hold: () => undefined,
    directories: new BoundedMap<StoredNode>(1),
    signal,
    maxBytes,
  }
  try {
    const { reached, ...facts } = await fetchArchivedFile(new StoredDag(source), root, [])
    store.finishSource({ key, ...facts, isVerifiable: false }, reached)
    return true
  } catch (error) {
    if (error instanceof FetchFailure) return false
    throw error
  }
}
