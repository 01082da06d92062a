import { BoundedMap } from '../../core/bounded-map.ts'
import { partsOf, placeOf } from '../../core/ipfs-url.ts'
import { decodeBody, limitBody } from '../../files/body.ts'
import { createAsker, headerOf, startClock } from '../../files/exchange.ts'
import { FetchFailure } from '../../files/failure.ts'
import { contentProblem, readHead } from '../../files/file-content.ts'
import type { Pace } from '../../files/pace.ts'
import { checkTarget } from '../../files/target.ts'
import type { Block, BlockTable } from '../store/block-table.ts'
import { ContentTooLargeError, type FileStorage } from './adapter.ts'
import { matchesCid, parseCid, RAW } from './cid.ts'
import { findEntry, isDirectory, readNode, streamNode, TooDeepError } from './nodes.ts'
import { isReadable, type StoredNode } from './unixfs.ts'

export interface GatewayOptions {
  /** Base URL of a trustless gateway, without a trailing slash: blocks are at `/ipfs/<cid>?format=raw`. */
  url: string
  /** Follow redirects to private addresses and any port too: for development. */
  allowPrivate?: boolean
  userAgent: string
  pace?: Pace
  /** Milliseconds for a block; by default 30 s. */
  timeoutMs?: number | undefined
}

export interface FileRules {
  allowHtml: boolean
  maxBytes: number
}

export interface Gateway {
  /**
   * Fetches the file of an ipfs URL block by block, checks each block against its CID, and stores them, so that the
   * file is found under the same URL.
   *
   * @returns its place, `<cid>[/<path>]`
   * @throws FetchFailure (`lasting` or not); ContentTooLargeError; the signal's reason once it is aborted
   */
  fetchFile(url: string, storage: FileStorage, rules: FileRules, signal: AbortSignal): Promise<string>
  close(): Promise<void>
}

/** What implementations of IPFS hand on is at most 2 MiB. */
const MAX_BLOCK_BYTES = 2 * 1024 * 1024
const TIMEOUT_MS = 30_000
/** A file of 64 MiB in the smallest usual parts, 16 KiB, has 4,096 and the nodes above them. */
const MAX_BLOCKS = 5000
/** Nodes that are remembered from one file to the next: 32 MiB at most. */
const RECENT_NODES = 16
/** A file may take as long as this many blocks at their time limit. */
const FILE_TIMEOUTS = 4
/** Parts are stored when so many bytes of them are there. */
const FLUSH_BYTES = 4 * 1024 * 1024

/**
 * Reads content of IPFS through an HTTP gateway that an operator named. It may be on a private address. What it
 * redirects to, as subdomain gateways do, has to be public.
 */
export function createGateway(options: GatewayOptions): Gateway {
  const { url: base, allowPrivate = false, userAgent, pace, timeoutMs = TIMEOUT_MS } = options
  const gateway = new URL(base)
  const name = gateway.host
  const asker = createAsker({
    ...{ allowPrivate, isTrusted: ({ origin }: URL) => origin === gateway.origin, userAgent, timeoutMs },
    ...(pace === undefined ? {} : { pace }),
  })

  const nodes = new BoundedMap<Uint8Array>(RECENT_NODES)

  /** A block that matches its CID. Files of one drop have the nodes of their directory in common. */
  const checkedBlock = async (text: string, signal: AbortSignal): Promise<Uint8Array> => {
    const recent = nodes.get(text)
    if (recent !== undefined) return recent
    const bytes = await block(text, signal)
    const cid = parseCid(text)
    if (cid === null || !matchesCid(cid, bytes)) throw passing(`the IPFS gateway sent other bytes for ${text}`)
    if (cid.code !== RAW) nodes.set(text, bytes)
    return bytes
  }

  const block = async (cid: string, signal: AbortSignal): Promise<Uint8Array> => {
    const clock = startClock(timeoutMs, signal)
    const target = { ...checkTarget(`${base}/ipfs/${cid}?format=raw`, true), label: `the IPFS gateway ${name}` }
    try {
      const { response } = await asker.follow(target, clock, { accept: 'application/vnd.ipld.raw' })
      if (response.statusCode !== 200) {
        response.body.on('error', () => undefined).destroy()
        throw passing(`${target.label} answered ${response.statusCode} for ${cid}`)
      }
      const contentEncoding = headerOf(response, 'content-encoding') ?? ''
      const limits = { contentEncoding, label: target.label, maxBytes: MAX_BLOCK_BYTES }
      const body = limitBody(decodeBody(response.body, limits), MAX_BLOCK_BYTES, target.label)
      return await clock.during(target, async () => {
        const parts: Uint8Array[] = []
        for await (const part of body) parts.push(part)
        return Buffer.concat(parts)
      })
    } catch (error) {
      // Another gateway, or this one tomorrow, may have it: no answer of it is final.
      throw error instanceof FetchFailure && error.lasting ? passing(error.message) : error
    } finally {
      clock.stop()
    }
  }

  return {
    async fetchFile(url, storage, { allowHtml, maxBytes }, signal) {
      const place = placeOf(url)
      const { cid: text, path } = partsOf(place)
      const root = parseCid(text)
      if (root === null) {
        throw lasting(`${url} has a CID of a kind that is not read here`, 'use a sha2-256 CID of a file or directory')
      }
      const deadline = performance.now() + FILE_TIMEOUTS * timeoutMs
      const late = () => passing(`${url} takes longer than ${(FILE_TIMEOUTS * timeoutMs) / 1000} s to fetch`)
      const fetched = new FetchedBlocks(url, storage, (cid) => {
        if (performance.now() > deadline) throw late()
        return checkedBlock(cid, signal)
      })
      let cid = root
      for (const part of path) {
        const found = await findEntry((one) => fetched.node(one, url), await fetched.node(cid, url), part)
        if (found === null) throw lasting(`${url} does not exist: there is no ${JSON.stringify(part)}`)
        cid = found
      }
      const node = await fetched.node(cid, url)
      if (isDirectory(node)) throw lasting(`${url} is a directory`, 'name a file in it: ipfs://<cid>/<path>')
      if (node.type === 'file' && node.size > maxBytes) throw new ContentTooLargeError(maxBytes)
      const content = shallow(streamNode(fetched, cid, node), url)
      const head = await readHead(content)
      const problem = contentProblem(head, { allowHtml })
      if (problem !== null) throw lasting(`${url} is ${problem}`)
      let size = head.length
      for await (const bytes of content) {
        size += bytes.length
        if (size > maxBytes) throw new ContentTooLargeError(maxBytes)
        await fetched.flushIfFull()
      }
      if (node.type === 'file' && size !== node.size) throw malformed(url)
      await fetched.finish(root.toString())
      if ((await storage.open(text, path, { ours: true }))?.type !== 'file') {
        throw malformed(url)
      }
      return place
    },
    close: () => asker.close(),
  }
}

const lasting = (message: string, hint = 'give the URL of a file') => new FetchFailure(message, { lasting: true, hint })
const malformed = (url: string) => lasting(`${url} is not a well-formed file`)
const passing = (message: string) => new FetchFailure(message, { lasting: false })

/** The content of a file; one whose tree is too deep is no file that is read here. */
async function* shallow(content: AsyncGenerator<Uint8Array>, url: string): AsyncGenerator<Uint8Array> {
  try {
    yield* content
  } catch (error) {
    throw error instanceof TooDeepError ? malformed(url) : error
  }
}

/** The blocks of one file as they are read. Parts are stored on the way, what leads to them at the end. */
class FetchedBlocks implements Pick<BlockTable, 'get'> {
  readonly #url: string
  readonly #storage: FileStorage
  readonly #fetch: (cid: string) => Promise<Uint8Array>
  readonly #nodes = new Map<string, Uint8Array>()
  #parts: Block[] = []
  #bytes = 0
  #count = 0

  constructor(url: string, storage: FileStorage, fetch: (cid: string) => Promise<Uint8Array>) {
    this.#url = url
    this.#storage = storage
    this.#fetch = fetch
  }

  async get(cid: string): Promise<Uint8Array> {
    // Visits, not fetches: a few nodes that name each other many times would keep everybody waiting.
    if (++this.#count > MAX_BLOCKS) throw lasting(`${this.#url} has more than ${MAX_BLOCKS} blocks`)
    const known = this.#nodes.get(cid)
    if (known !== undefined) return known
    const bytes = await this.#fetch(cid)
    if (parseCid(cid)?.code === RAW) {
      this.#parts.push({ cid, bytes })
      this.#bytes += bytes.length
    } else {
      if (!isReadable(bytes)) throw malformed(this.#url)
      this.#nodes.set(cid, bytes)
    }
    return bytes
  }

  async node(cid: Parameters<typeof readNode>[1], url: string): Promise<StoredNode> {
    const node = await readNode(this, cid)
    if (node !== null) return node
    throw lasting(`${url} leads through a kind of node that is not read here`)
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
