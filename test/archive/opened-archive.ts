import { readFile } from 'node:fs/promises'
import { CarReader } from '@ipld/car/reader'
import { sha256 } from 'multiformats/hashes/sha2'
import { expect } from 'vitest'
import type { IndexHeader, IndexToken } from '../../src/archive/index-lines.ts'
import { parseCid } from '../../src/ipfs/cid.ts'
import { readNode, streamNode } from '../../src/ipfs/nodes.ts'

/** Reads an archive with the reference implementation of CAR files, and checks each block against its CID. */
export async function opened(path: string) {
  const reader = await CarReader.fromBytes(await readFile(path))
  const blocks = new Map<string, Uint8Array>()
  for await (const { cid, bytes } of reader.blocks()) {
    expect(Buffer.from((await sha256.digest(bytes)).digest)).toEqual(Buffer.from(cid.multihash.digest))
    expect(blocks.has(cid.toString())).toBe(false)
    blocks.set(cid.toString(), bytes)
  }
  const [root] = await reader.getRoots()
  const store = { get: async (cid: string) => blocks.get(cid) ?? null }
  const content = async (text: string) => {
    const cid = parseCid(text)
    const node = cid === null ? null : await readNode(store, cid)
    if (cid === null || node === null || node.type === 'directory' || node.type === 'shard') throw new Error(text)
    const parts: Uint8Array[] = []
    for await (const part of streamNode(store, cid, node)) parts.push(part)
    return Buffer.concat(parts)
  }
  const lines = (await content(String(root))).toString().trimEnd().split('\n')
  const [header, ...tokens] = lines.map((line) => JSON.parse(line)) as [IndexHeader, ...IndexToken[]]
  return { blocks, header, tokens, content, root: String(root) }
}
