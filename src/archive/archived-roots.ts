import { cidText, parseCid } from '../ipfs/cid.ts'
import { createCompletenessCheck } from './complete-content.ts'
import type { OpenArchive } from './read-archive.ts'
import { parseReadableUrl } from './token-uri.ts'

/**
 * Yields the CID of each complete directory and file in the archive, once. Doesn't yield the files of a complete
 * directory separately.
 */
export async function* archivedRoots(archive: OpenArchive): AsyncGenerator<string> {
  const isComplete = createCompletenessCheck(archive)
  const seenRoots = new Set<string>()
  for await (const { files } of archive.tokens()) {
    for (const { url, cid } of files) {
      if (cid === undefined) continue
      const readable = parseReadableUrl(url, '')
      const directory = 'kind' in readable && readable.kind === 'ipfs' ? parseCid(readable.cid) : null
      const root = directory !== null && (await isComplete(directory)) ? directory : parseCid(cid)
      if (root === null || seenRoots.has(cidText(root))) continue
      seenRoots.add(cidText(root))
      if (await isComplete(root)) yield cidText(root)
    }
  }
}
