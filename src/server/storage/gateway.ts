import { ipfsPathParts, ipfsPlace } from '../../core/ipfs-url.ts'
import { permanentError } from '../../files/failure.ts'
import { contentProblem, readHead } from '../../files/file-content.ts'
import type { Pace } from '../../files/pace.ts'
import { createBlockSource, temporaryError } from '../../ipfs/block-source.ts'
import { type BlockReader, type ContentBlock, parseCid, RAW_CODEC } from '../../ipfs/cid.ts'
import { findEntry, isDirectory, readNode, streamNode, TooDeepError } from '../../ipfs/nodes.ts'
import { isDecodable, type StoredNode } from '../../ipfs/unixfs.ts'
import { ContentTooLargeError, type FileStorage } from './adapter.ts'

export interface GatewayOptions {
  /** Base URL of a trustless gateway, without a trailing slash: blocks are at `/ipfs/<cid>?format=raw`. */
  url: string
  /** Whether to follow redirects to private addresses and to any port, for development. */
  allowPrivate?: boolean
  userAgent: string
  pace?: Pace
  /** Timeout for each block in milliseconds. Default: 30 s. */
  timeoutMs?: number | undefined
}

export interface FileRules {
  allowHtml: boolean
  maxBytes: number
}

export interface Gateway {
  /**
   * Fetches the file of an `ipfs:` URL block by block, checks each block against its CID, and stores the blocks. The
   * file is then available under the same URL.
   *
   * @returns the file's IPFS path, `<cid>[/<path>]`
   * @throws FetchFailure (`isLasting` or not); ContentTooLargeError; the signal's reason if it is aborted
   */
  fetchFile(url: string, storage: FileStorage, rules: FileRules, signal: AbortSignal): Promise<string>
  close(): Promise<void>
}

const TIMEOUT_MS = 30_000
/**
 * Maximum number of blocks of a file. A file of 64 MiB in the smallest usual parts (16 KiB) has 4,096 parts, and nodes
 * that list them.
 */
const MAX_BLOCKS = 5000
/** Timeout for a file, as a multiple of the timeout for a block. */
const FILE_TIMEOUTS = 4
/** Number of bytes at which fetched parts are stored together. */
const FLUSH_BYTES = 4 * 1024 * 1024

/**
 * Creates a reader of IPFS content through an HTTP gateway that the operator configured. The gateway may have a private
 * address, but its redirects, for example to a subdomain, must lead to public addresses.
 */
export function createGateway(options: GatewayOptions): Gateway {
  const { url: base, allowPrivate = false, userAgent, pace, timeoutMs = TIMEOUT_MS } = options
  const source = createBlockSource({ url: base, allowPrivate, userAgent, pace, timeoutMs })

  return {
    async fetchFile(url, storage, { allowHtml, maxBytes }, signal) {
      const place = ipfsPlace(url)
      const { cid: text, path } = ipfsPathParts(place)
      const root = parseCid(text)
      if (root === null) {
        throw unusableUrlError(`${url} has an unsupported kind of CID`, 'Use a sha2-256 CID of a file or directory.')
      }
      const deadline = performance.now() + FILE_TIMEOUTS * timeoutMs
      const lateError = () =>
        temporaryError(`${url} takes longer than ${(FILE_TIMEOUTS * timeoutMs) / 1000} s to fetch`)
      const fetched = new FetchedBlocks(url, storage, (cid) => {
        if (performance.now() > deadline) throw lateError()
        return source.fetchBlock(cid, signal)
      })
      let cid = root
      for (const part of path) {
        const entry = await findEntry((child) => fetched.node(child, url), await fetched.node(cid, url), part)
        if (entry === null)
          throw unusableUrlError(`${url} does not exist: its directory has no ${JSON.stringify(part)}`)
        cid = entry
      }
      const node = await fetched.node(cid, url)
      if (isDirectory(node))
        throw unusableUrlError(`${url} is a directory`, 'Use the URL of a file in the directory: ipfs://<cid>/<path>.')
      if (node.type === 'file' && node.size > maxBytes) throw new ContentTooLargeError(maxBytes)
      const content = shallow(streamNode(fetched, cid, node), url)
      const head = await readHead(content)
      const problem = contentProblem(head, { allowHtml })
      if (problem !== null) throw unusableUrlError(`${url} is ${problem}`)
      let size = head.length
      for await (const bytes of content) {
        size += bytes.length
        if (size > maxBytes) throw new ContentTooLargeError(maxBytes)
        await fetched.flushIfFull()
      }
      if (node.type === 'file' && size !== node.size) throw malformedUrlError(url)
      await fetched.finish(root.toString())
      if ((await storage.open(text, path, { ownOnly: true }))?.type !== 'file') {
        throw malformedUrlError(url)
      }
      return place
    },
    close: () => source.close(),
  }
}

const unusableUrlError = (message: string, hint = 'Use the URL of a file.') => permanentError(message, hint)
const malformedUrlError = (url: string) => unusableUrlError(`${url} is not a well-formed file`)

/** Yields the content of a file. Rejects a file whose tree is too deep. */
async function* shallow(content: AsyncGenerator<Uint8Array>, url: string): AsyncGenerator<Uint8Array> {
  try {
    yield* content
  } catch (error) {
    throw error instanceof TooDeepError ? malformedUrlError(url) : error
  }
}

/** The fetched blocks of one file. Parts are stored while the file is read, and nodes are stored at the end. */
class FetchedBlocks implements Pick<BlockReader, 'get'> {
  readonly #url: string
  readonly #storage: FileStorage
  readonly #fetch: (cid: string) => Promise<Uint8Array>
  readonly #nodes = new Map<string, Uint8Array>()
  #parts: ContentBlock[] = []
  #bytes = 0
  #count = 0

  constructor(url: string, storage: FileStorage, fetch: (cid: string) => Promise<Uint8Array>) {
    this.#url = url
    this.#storage = storage
    this.#fetch = fetch
  }

  async get(cid: string): Promise<Uint8Array> {
    // Count visits instead of fetches, because a few nodes can list the same nodes so often that reading would never
    // end.
    if (++this.#count > MAX_BLOCKS) throw unusableUrlError(`${this.#url} has more than ${MAX_BLOCKS} blocks`)
    const cached = this.#nodes.get(cid)
    if (cached !== undefined) return cached
    const bytes = await this.#fetch(cid)
    if (parseCid(cid)?.code === RAW_CODEC) {
      this.#parts.push({ cid, bytes })
      this.#bytes += bytes.length
    } else {
      if (!isDecodable(bytes)) throw malformedUrlError(this.#url)
      this.#nodes.set(cid, bytes)
    }
    return bytes
  }

  async node(cid: Parameters<typeof readNode>[1], url: string): Promise<StoredNode> {
    const node = await readNode(this, cid)
    if (node !== null) return node
    throw unusableUrlError(`${url} contains an unsupported kind of node in its path`)
  }

  async flushIfFull(): Promise<void> {
    if (this.#bytes < FLUSH_BYTES) return
    await this.#storage.putBlocks(this.#parts)
    this.#parts = []
    this.#bytes = 0
  }

  async finish(root: string): Promise<void> {
    const nodes = [...this.#nodes].map(([cid, bytes]) => ({ cid, bytes }))
    await this.#storage.putBlocks([...this.#parts, ...nodes], root)
  }
}
