import { encode, type PBLink, prepare } from '@ipld/dag-pb'
import { UnixFS } from 'ipfs-unixfs'
import type { CID } from 'multiformats/cid'
import { GdnError } from '../../core/errors.ts'
import { type ContentBlock, nodeCid, rawCid } from '../../ipfs/cid.ts'

/** Size in bytes of the parts of a file in IPFS. If a file is larger, a node lists its parts. */
export const PART_BYTES = 256 * 1024
/** Maximum size of the names and CIDs in a directory's node. */
const MAX_LINK_BYTES = 256 * 1024

export interface NamedFile {
  name: string
  bytes: Uint8Array
}

export interface BuiltDirectory {
  cid: string
  /** The 32-byte sha2-256 of the directory's node, from which a contract builds the CID. */
  digest: `0x${string}`
  /** All blocks that are reachable from the CID, without duplicates. The directory is the last block. */
  blocks: ContentBlock[]
}

/**
 * Builds the directory that `ipfs add -r --cid-version=1` creates from files. Doesn't store the blocks: pass them to a
 * block table.
 *
 * @throws GdnError `invalid_input` for an invalid or repeated name, and for too many files for one node
 *
 * @example
 * const { cid, blocks } = await buildDirectory([{ name: '0.json', bytes: metadata }])
 * await table.put(blocks) // ipfs://<cid>/0.json
 */
export async function buildDirectory(files: readonly NamedFile[]): Promise<BuiltDirectory> {
  checkNames(files)
  const blocks = new Map<string, Uint8Array>()
  const links: PBLink[] = []
  let linkBytes = 0
  for (const { name, bytes } of files) {
    const { cid, size } = await addFile(bytes, blocks)
    links.push({ Name: name, Hash: cid, Tsize: size })
    linkBytes += Buffer.byteLength(name) + cid.byteLength
  }
  // IPFS splits a larger directory into several nodes, which this storage doesn't create.
  if (linkBytes > MAX_LINK_BYTES) {
    throw new GdnError('invalid_input', 'too many files for one directory', {
      hint: 'Use fewer files, or shorter names.',
    })
  }
  const node = encode(prepare({ Data: new UnixFS({ type: 'directory' }).marshal(), Links: links }))
  const cid = nodeCid(node)
  return {
    cid: cid.toString(),
    digest: `0x${Buffer.from(cid.multihash.digest).toString('hex')}`,
    blocks: [...Array.from(blocks, ([cid, bytes]) => ({ cid, bytes })), { cid: cid.toString(), bytes: node }],
  }
}

/** Adds the blocks of a file. Returns the file's CID and the total number of bytes of its blocks. */
async function addFile(bytes: Uint8Array, blocks: Map<string, Uint8Array>): Promise<{ cid: CID; size: number }> {
  if (bytes.length > PART_BYTES) {
    const { importBlocks } = await import('../../ipfs/import.ts')
    return await importBlocks(bytes, (block) => blocks.set(block.cid, block.bytes))
  }
  const cid = rawCid(bytes)
  blocks.set(cid.toString(), bytes)
  return { cid, size: bytes.length }
}

function checkNames(files: readonly NamedFile[]): void {
  const seenNames = new Set<string>()
  for (const { name } of files) {
    if (name === '' || name === '.' || name === '..' || /[/\0\p{Surrogate}]/u.test(name)) {
      throw new GdnError('invalid_input', `the file name ${JSON.stringify(name)} is not allowed`)
    }
    if (seenNames.has(name)) throw new GdnError('invalid_input', `two files are named ${JSON.stringify(name)}`)
    seenNames.add(name)
  }
}
