import { cidText, parseCid } from '../ipfs/cid.ts'
import { isComplete, readNode } from '../ipfs/nodes.ts'
import { type ArchiveProblem, type IndexFile, type IndexToken, listProblems } from './index-lines.ts'
import type { OpenArchive } from './read-archive.ts'

/** Maximum number of missing files to return for printing. */
const MAX_PROBLEMS = 100

/** Returns the number of files that the archive doesn't have, and the first of these files. */
export async function findMissingFiles(archive: OpenArchive): Promise<{ all: number; first: ArchiveProblem[] }> {
  const first: ArchiveProblem[] = []
  let all = 0
  for await (const token of tokensWithMissing(archive)) {
    for (const problem of listProblems([token])) {
      all++
      if (first.length < MAX_PROBLEMS) first.push(problem)
    }
  }
  return { all, first }
}

/** Yields the tokens of the index. Adds an error to each file that the archive doesn't have. */
export async function* tokensWithMissing(archive: OpenArchive): AsyncGenerator<IndexToken> {
  for await (const token of archive.tokens()) yield await markMissingFiles(archive, token)
}

/** Adds an error to each file for which the archive lacks a block, even if the index contains no error for the file. */
async function markMissingFiles(archive: OpenArchive, token: IndexToken): Promise<IndexToken> {
  const blocks = { get: archive.get, has: async (cid: string) => archive.has(cid) }
  const isStored = async (text: string | undefined) => {
    const cid = text === undefined ? null : parseCid(text)
    if (cid === null || !archive.has(cidText(cid))) return false
    const node = await readNode(archive, cid).catch(() => null)
    return node !== null && (await isComplete(blocks, node).catch(() => false))
  }
  const files: IndexFile[] = []
  for (const file of token.files) {
    const isKnown = file.error !== undefined || (await isStored(file.cid))
    files.push(isKnown ? file : { ...file, error: 'the file is missing from the archive' })
  }
  return { ...token, files }
}
