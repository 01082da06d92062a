import type { CID } from 'multiformats/cid'
import type { BlockTable } from '../store/block-table.ts'
import { parseCid } from './cid.ts'
import { isDirectory, readNode } from './nodes.ts'

/** Returns every block of the table that is reachable from a CID, each once; null if its own block doesn't exist. */
export async function blocksBelow(blocks: BlockTable, root: string): Promise<{ cid: CID; bytes: Uint8Array }[] | null> {
  const first = parseCid(root)
  if (first === null || !(await blocks.has(root))) return null
  const found = new Map<string, { cid: CID; bytes: Uint8Array }>()
  const waiting = [first]
  for (let cid = waiting.pop(); cid !== undefined; cid = waiting.pop()) {
    const key = cid.toString()
    const bytes = found.has(key) ? null : await blocks.get(key)
    if (bytes === null) continue
    found.set(key, { cid, bytes })
    const node = await readNode(blocks, cid)
    if (node !== null && isDirectory(node)) waiting.push(...node.entries.map(({ link }) => link))
    if (node?.type === 'file') waiting.push(...node.parts.map((part) => part.cid))
  }
  return [...found.values()]
}
