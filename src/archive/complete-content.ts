import type { CID } from 'multiformats/cid'
import { cidText, parseCid, RAW_CODEC } from '../ipfs/cid.ts'
import { decodeLinks } from './ipfs-dag.ts'
import type { ArchivedBlocks } from './read-archive.ts'

/**
 * Returns a function that checks whether an archive contains a block and all blocks below it. The function reads each
 * node once.
 */
export function createCompletenessCheck({ has, get }: ArchivedBlocks): (root: CID) => Promise<boolean> {
  const nodes = new Map<string, boolean>()
  return async (root) => {
    const visited = new Set<string>()
    const open = [root]
    const linksOf = async (cid: CID, text: string) => {
      const bytes = await get(text)
      return bytes === null ? null : decodeLinks(cid, bytes)
    }
    for (let cid = open.pop(); cid !== undefined; cid = open.pop()) {
      const text = cidText(cid)
      if (cid.code === RAW_CODEC ? has(text) : visited.has(text) || nodes.get(text) === true) continue
      // Catch all errors, because malformed nodes cause many types of errors.
      const isKnown = cid.code === RAW_CODEC || nodes.has(text)
      const links = isKnown ? null : await linksOf(cid, text).catch(() => null)
      if (links === null) {
        if (root.code !== RAW_CODEC) nodes.set(cidText(root), false)
        return false
      }
      visited.add(text)
      for (const link of links) open.push(link)
    }
    for (const text of visited) nodes.set(text, true)
    return true
  }
}

/** Yields the CIDs of the complete files and directories of an archive whose index can't be read. */
export async function* rootsWithoutIndex(archive: ArchivedBlocks): AsyncGenerator<string> {
  const isComplete = createCompletenessCheck(archive)
  const below = new Set<string>()
  for await (const { cid, bytes } of archive.all()) {
    if (cid.code === RAW_CODEC || !(await isComplete(cid))) continue
    for (const link of decodeLinks(cid, bytes)) below.add(cidText(link))
  }
  for (const text of archive.cids()) {
    const cid = parseCid(text)
    if (cid !== null && !below.has(text) && (await isComplete(cid))) yield text
  }
}
