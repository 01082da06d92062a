import { createHash } from 'node:crypto'
import { decode } from '@ipld/dag-pb'
import type { CID } from 'multiformats/cid'
import type { BoundedMap } from '../core/bounded-map.ts'
import { GdnError } from '../core/errors.ts'
import { tooLargeError } from '../files/body.ts'
import { FetchFailure, permanentError } from '../files/failure.ts'
import { NoSuchBlockError, WrongBlockError } from '../ipfs/block-source.ts'
import { type ContentBlock, DAG_PB_CODEC, matchesCid, parseCid } from '../ipfs/cid.ts'
import { findEntry, isDirectory, readNode, streamNode } from '../ipfs/nodes.ts'
import type { StoredNode } from '../ipfs/unixfs.ts'
import { fileProblem, isDamagedError } from '../sqlite/sqlite-error.ts'
import type { ArchiveStore } from './archive-store.ts'
import type { Gateways } from './gateways.ts'
import { MAX_DIRECTORY_BLOCKS, MAX_FILE_BLOCKS } from './limits.ts'

export interface DagOptions {
  store: ArchiveStore
  gateways: Pick<Gateways, 'block' | 'blocksOf' | 'file'>
  /** Stores a block. `firstVersions` are the CIDs of version 0 that the block uses to refer to other blocks. */
  put(cid: string, bytes: Uint8Array, firstVersions?: readonly string[]): void
  /** Cache of decoded directory nodes by CID, because the files of a collection share their directory. */
  directories: BoundedMap<StoredNode>
  /** Keeps a block in the store while this file or directory is read. */
  hold(cid: string): void
  signal: AbortSignal
  /** Maximum size of the content in bytes. */
  maxBytes: number
}

/** The CID, size and blocks of a file or directory. */
export interface ArchivedContent {
  cid: string
  size: number
  /** The CIDs of the content's blocks in order, including the blocks of the path that leads to it. */
  reached: string[]
}

/**
 * Maximum number of node visits per file. A well-formed file needs few visits, but a malformed file may list the same
 * nodes repeatedly.
 */
const MAX_VISITS = 500_000
const MAX_READ_RATIO = 3
const NODE_ALLOWANCE_BYTES = 16 * 2 ** 20
/** Maximum ratio of a CAR file's size to its content. Nodes and CIDs take less than a tenth of a CAR file. */
const MAX_CAR_RATIO = 1.1
/** Minimum number of parts for which a CAR file saves requests. */
const MIN_CAR_PARTS = 2

/** The blocks of one file or directory, which are read from the store or else from the gateways. */
export class StoredDag {
  readonly #options: DagOptions
  /** The file to request as a whole if the gateways don't have its parts as blocks. */
  #file: CID | null = null

  constructor(options: DagOptions) {
    this.#options = options
  }

  get signal(): AbortSignal {
    return this.#options.signal
  }

  get maxBytes(): number {
    return this.#options.maxBytes
  }

  /**
   * Returns a block, checked against its CID.
   *
   * @throws FetchFailure
   */
  async get(text: string): Promise<Uint8Array> {
    const { store, gateways, put, hold, signal } = this.#options
    hold(text)
    const stored = store.block(text)
    if (stored !== null) return stored
    try {
      const bytes = await gateways.block(text, signal)
      put(text, bytes, findFirstVersions(text, bytes))
      return bytes
    } catch (error) {
      const file = error instanceof NoSuchBlockError || error instanceof WrongBlockError ? this.#file : null
      if (file === null) throw error
      this.#file = null
      const bytes = (await this.#importWhole(file)) ? store.block(text) : null
      if (bytes === null) throw error
      return bytes
    }
  }

  /**
   * Splits the content of a file into the blocks that `ipfs add` creates. If the file was added in the same way, the
   * CIDs match, so these are the file's blocks. Returns false if no gateway returns the file.
   */
  async #importWhole(file: CID): Promise<boolean> {
    const { gateways, put, signal } = this.#options
    const { importBlocks } = await import('../ipfs/import.ts')
    try {
      // `gateways.file` limits the size.
      await importBlocks(await gateways.file(file.toString(), signal), ({ cid, bytes }) => put(cid, bytes))
      return true
    } catch (error) {
      if (error instanceof FetchFailure) return false
      throw error
    }
  }

  async node(cid: CID): Promise<StoredNode> {
    const { directories, signal } = this.#options
    const directory = directories.get(cid.toString())
    if (directory !== undefined) return directory
    const bytes = await this.get(cid.toString())
    const node = await withMalformedError(signal, () => readNode({ get: async () => bytes }, cid))
    if (node === null) throw permanentError('the path contains a node of an unsupported type')
    if (isDirectory(node)) directories.set(cid.toString(), node)
    return node
  }

  /** Sets the CID of the file that is being read. */
  setFile(cid: CID): void {
    this.#file = cid
  }

  /**
   * Fetches the blocks of a file with one request if a gateway supports this. Missing blocks are fetched one by one
   * later.
   */
  async fetchParts(file: CID, parts: readonly { cid: CID }[]): Promise<void> {
    const { store, gateways, put, signal } = this.#options
    const [first] = parts
    if (first === undefined || parts.length < MIN_CAR_PARTS || (await store.has(first.cid.toString()))) return
    const wantedCids = new Set([file.toString()])
    const take = (blockCid: CID, bytes: Uint8Array) => {
      const cid = parseCid(blockCid.toString())
      const text = String(cid)
      // Parents come first, so an earlier block must refer to each further block.
      if (cid === null || !wantedCids.delete(text))
        throw permanentError('the gateway returned a block that was not requested')
      if (!matchesCid(cid, bytes)) throw new WrongBlockError(`the gateway returned bytes that do not match ${text}`)
      for (const link of decodeLinks(cid, bytes)) wantedCids.add(link.toString())
      if (wantedCids.size > MAX_FILE_BLOCKS) throw permanentError(`the file has more than ${MAX_FILE_BLOCKS} blocks`)
      put(text, bytes, findFirstVersions(text, bytes))
    }
    await gateways.blocksOf(file.toString(), this.maxBytes * MAX_CAR_RATIO + NODE_ALLOWANCE_BYTES, take, signal)
  }

  /** Returns all blocks that are reachable from a CID, each once, with parents before their children. */
  async blocksBelow(root: CID, most = MAX_FILE_BLOCKS): Promise<{ reached: string[]; bytes: number }> {
    const reached: string[] = []
    let bytes = 0
    for await (const block of blocksBelow(root, (cid) => this.get(cid), most)) {
      this.#options.signal.throwIfAborted()
      reached.push(block.cid)
      bytes += block.bytes.length
      if (bytes > this.maxBytes * MAX_CAR_RATIO + NODE_ALLOWANCE_BYTES) throw tooLargeError('it', this.maxBytes)
    }
    return { reached, bytes }
  }

  /**
   * Returns a block reader for a single pass over a file in the store.
   *
   * @throws FetchFailure if reading takes too many visits or too many bytes
   */
  reader() {
    const { store, signal } = this.#options
    let visits = 0
    let bytes = 0
    return {
      get: async (cid: string) => {
        signal.throwIfAborted()
        const block = store.block(cid)
        bytes += block?.length ?? 0
        if (++visits > MAX_VISITS || bytes > this.maxBytes * MAX_READ_RATIO + NODE_ALLOWANCE_BYTES)
          throw malformedFileError()
        return block
      },
    }
  }
}

/**
 * Reads the file at a path below a CID.
 *
 * @throws FetchFailure
 */
export async function fetchArchivedFile(
  dag: StoredDag,
  root: CID,
  path: readonly string[],
): Promise<ArchivedContent & { sha256: string }> {
  const onPath: string[] = []
  const read = async (cid: CID) => {
    onPath.push(cid.toString())
    return await dag.node(cid)
  }
  let cid = root
  for (const name of path) {
    const directory = await read(cid)
    const entry = await withMalformedError(dag.signal, () => findEntry(read, directory, name))
    const link = entry === null ? null : parseCid(entry.toString())
    if (entry === null) throw permanentError(`the directory has no ${JSON.stringify(name)}`)
    if (link === null) throw unsupportedBlockError()
    cid = link
  }
  dag.setFile(cid)
  const node = await dag.node(cid)
  if (isDirectory(node)) throw permanentError('the URL points to a directory instead of a file')
  if (node.type === 'file' && node.size > dag.maxBytes) throw tooLargeError('it', dag.maxBytes)
  if (node.type === 'file') await dag.fetchParts(cid, node.parts)
  const { reached } = await dag.blocksBelow(cid)
  const hash = createHash('sha256')
  let size = 0
  const expectedBytes = node.type === 'file' ? node.size : node.bytes.length
  await withMalformedError(dag.signal, async () => {
    for await (const bytes of streamNode(dag.reader(), cid, node)) {
      size += bytes.length
      if (size > expectedBytes) throw malformedFileError()
      hash.update(bytes)
    }
  })
  if (size !== expectedBytes) throw malformedFileError()
  if (size > dag.maxBytes) throw tooLargeError('it', dag.maxBytes)
  return { cid: cid.toString(), size, sha256: hash.digest('hex'), reached: [...new Set([...onPath, ...reached])] }
}

/**
 * Reads everything below a CID.
 *
 * @throws FetchFailure
 */
export async function fetchArchivedDirectory(dag: StoredDag, root: CID): Promise<ArchivedContent> {
  const { reached, bytes } = await dag.blocksBelow(root, MAX_DIRECTORY_BLOCKS)
  return { cid: root.toString(), size: bytes, reached }
}

/** Yields the content of a file in the store. */
export async function* readStoredFile(store: ArchiveStore, text: string): AsyncGenerator<Uint8Array> {
  const cid = parseCid(text)
  const node = cid === null ? null : await readNode(store, cid)
  if (cid === null || node === null || isDirectory(node)) throw malformedFileError()
  yield* streamNode(store, cid, node)
}

/** Yields all blocks that are reachable from a CID, each once, with parents before their children. */
export async function* blocksBelow(
  root: CID,
  get: (cid: string) => Promise<Uint8Array>,
  maxBlocks: number,
): AsyncGenerator<ContentBlock> {
  const visited = new Set([root.toString()])
  const open = [root]
  for (let cid = open.pop(); cid !== undefined; cid = open.pop()) {
    const bytes = await get(cid.toString())
    yield { cid: cid.toString(), bytes }
    for (const link of decodeLinks(cid, bytes).reverse()) {
      const key = link.toString()
      if (visited.has(key)) continue
      visited.add(key)
      if (visited.size > maxBlocks) throw permanentError(`the content has more than ${maxBlocks} blocks`)
      open.push(link)
    }
  }
}

/**
 * Returns the CIDs to which a block refers.
 *
 * @throws FetchFailure if the block is malformed
 */
export function decodeLinks(cid: CID, bytes: Uint8Array): CID[] {
  if (cid.code !== DAG_PB_CODEC) return []
  return linksOf(bytes).map(({ Hash }) => {
    const link = parseCid(Hash.toString())
    if (link === null) throw unsupportedBlockError()
    return link
  })
}

/** Returns the CIDs of version 0 that a block uses to refer to other blocks, converted to version 1. */
export function findFirstVersions(text: string, bytes: Uint8Array): string[] {
  if (parseCid(text)?.code !== DAG_PB_CODEC) return []
  const first = linksOf(bytes).filter(({ Hash }) => Hash.version === 0)
  return [...new Set(first.map(({ Hash }) => Hash.toV1().toString()))]
}

function linksOf(bytes: Uint8Array) {
  try {
    return decode(bytes).Links
  } catch {
    throw malformedFileError()
  }
}

/** Converts the many types of errors for malformed nodes to one error. */
async function withMalformedError<Result>(signal: AbortSignal, task: () => Promise<Result>): Promise<Result> {
  try {
    return await task()
  } catch (error) {
    const isDecoding = !(error instanceof GdnError) || error.code === 'unexpected'
    if (signal.aborted || !isDecoding || isDamagedError(error) || fileProblem(error) !== null) throw error
    throw malformedFileError()
  }
}

const malformedFileError = () => permanentError('the file is malformed')
const unsupportedBlockError = () =>
  permanentError('a block has an unsupported type: gdn reads only raw and dag-pb blocks with sha2-256 hashes')
