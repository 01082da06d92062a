import { importDirectory, importer } from 'ipfs-unixfs-importer'
import type { CID } from 'multiformats/cid'
import { GdnError } from '../../core/errors.ts'
import type { Block } from '../store/block-table.ts'
import { blockBytes, importOptions } from './import.ts'

export interface NamedFile {
  name: string
  bytes: Uint8Array
}

export interface BuiltDirectory {
  cid: string
  /** The 32-byte sha2-256 of the directory's node, from which a contract builds the CID. */
  digest: `0x${string}`
  /** All blocks that are reachable from the CID, each once, the directory last. */
  blocks: Block[]
}

/**
 * Builds the directory that `ipfs add -r --cid-version=1` creates from files. Nothing is stored: pass the blocks to a
 * block table.
 *
 * Measured for 200 files of 500 bytes: 4.6 ms with the importer, 1.0 ms with only dag-pb and hashes. Compared with
 * signing and sending a transaction, the difference isn't worth a second implementation.
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
  const collect = {
    async put(cid: CID, bytes: unknown): Promise<CID> {
      blocks.set(cid.toString(), blockBytes(bytes))
      return cid
    },
  }
  const root = files.length === 0 ? await emptyDirectory(collect) : await wrap(files, collect)
  return {
    cid: root.toString(),
    digest: `0x${Buffer.from(root.multihash.digest).toString('hex')}`,
    blocks: Array.from(blocks, ([cid, bytes]) => ({ cid, bytes })),
  }
}

type Collector = Parameters<typeof importer>[1]

async function emptyDirectory(collector: Collector): Promise<CID> {
  return (await importDirectory({ path: 'empty' }, collector, importOptions())).cid
}

async function wrap(files: readonly NamedFile[], collector: Collector): Promise<CID> {
  const candidates = files.map(({ name, bytes }) => ({ path: name, content: bytes }))
  let last: CID | undefined
  for await (const entry of importer(candidates, collector, { ...importOptions(), wrapWithDirectory: true })) {
    // Above 256 KiB of names and CIDs, IPFS shards a directory into many nodes, which `open` doesn't create.
    if (entry.unixfs?.type === 'hamt-sharded-directory') {
      throw new GdnError('invalid_input', 'too many files for one directory', {
        hint: 'Use fewer files, or shorter names.',
      })
    }
    last = entry.cid
  }
  if (last === undefined) throw new Error('the importer returned no directory')
  return last
}

function checkNames(files: readonly NamedFile[]): void {
  const seen = new Set<string>()
  for (const { name } of files) {
    if (name === '' || name === '.' || name === '..' || /[/\0\p{Surrogate}]/u.test(name)) {
      throw new GdnError('invalid_input', `the file name ${JSON.stringify(name)} is not allowed`)
    }
    if (seen.has(name)) throw new GdnError('invalid_input', `two files are named ${JSON.stringify(name)}`)
    seen.add(name)
  }
}
