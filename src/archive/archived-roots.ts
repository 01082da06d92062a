import { cidText, parseCid } from '../ipfs/cid.ts'
import { blocksBelow } from './ipfs-dag.ts'
import { MAX_DIRECTORY_BLOCKS } from './limits.ts'
import type { OpenArchive } from './read-archive.ts'
import { readableUrl } from './token-uri.ts'

/**
 * Yields the CIDs of the archive's complete content, each once: a directory if the archive has all of it, or else each
 * of its files.
 */
export async function* archivedRoots(archive: OpenArchive): AsyncGenerator<string> {
  const complete = new Map<string, boolean>()
  const isComplete = async (cid: string) => {
    const known = complete.get(cid) ?? (await hasAllBelow(archive, cid))
    complete.set(cid, known)
    return known
  }
  const seen = new Set<string>()
  for await (const { files } of archive.tokens()) {
    for (const { url, cid } of files) {
      if (cid === undefined) continue
      const file = textOf(cid)
      const readable = readableUrl(url, '')
      const directory = 'kind' in readable && readable.kind === 'ipfs' ? textOf(readable.cid) : undefined
      const root = directory !== undefined && (await isComplete(directory)) ? directory : file
      if (root === undefined || seen.has(root)) continue
      seen.add(root)
      if (!archive.isDamaged || (await hasAllBelow(archive, root))) yield root
    }
  }
}

/** Returns the text of a CID as version 1; undefined if it isn't one. */
function textOf(text: string): string | undefined {
  const cid = parseCid(text)
  return cid === null ? undefined : cidText(cid)
}

async function hasAllBelow(archive: OpenArchive, text: string): Promise<boolean> {
  const root = parseCid(text)
  if (root === null) return false
  try {
    for await (const _block of blocksBelow(root, (cid) => required(archive, cid), MAX_DIRECTORY_BLOCKS));
    return true
  } catch {
    return false
  }
}

async function required(archive: OpenArchive, cid: string): Promise<Uint8Array> {
  const bytes = await archive.get(cid)
  if (bytes === null) throw new Error('missing')
  return bytes
}
