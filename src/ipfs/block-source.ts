import { BoundedMap } from '../core/bounded-map.ts'
import { decodeBody, limitBody } from '../files/body.ts'
import { createFileRequester, discardBody, readHeader, startTimeLimit } from '../files/exchange.ts'
import { FetchFailure } from '../files/failure.ts'
import type { Pace } from '../files/pace.ts'
import { checkTarget } from '../files/target.ts'
import { MAX_BLOCK_BYTES, matchesCid, parseCid, RAW_CODEC, type TakeBlock } from './cid.ts'

export interface BlockSourceOptions {
  /**
   * Base URL of a trustless gateway, without a trailing slash. The gateway serves blocks at `/ipfs/<cid>?format=raw`.
   */
  url: string
  /** Whether to follow redirects to private addresses and to any port, for development. */
  allowPrivate: boolean
  userAgent: string
  pace?: Pace | undefined
  /** Timeout for each block in milliseconds. */
  timeoutMs: number
}

/** Fetches blocks from a trustless gateway. */
export interface BlockSource {
  /**
   * Returns a block after checking it against its CID. Caches nodes, because the files of a collection share the nodes
   * of their directory.
   *
   * @throws FetchFailure, never lasting, because another gateway may have the block, or this gateway may have it later
   */
  fetchBlock(cid: string, signal: AbortSignal): Promise<Uint8Array>
  /**
   * Fetches the blocks of a file in one CAR file, and passes each block to `take`. Doesn't check the blocks against
   * their CIDs. Only some gateways return CAR files.
   *
   * @param maxBytes maximum size of the CAR file
   * @throws FetchFailure, never lasting, even for an error that `take` throws
   */
  fetchFileBlocks(cid: string, maxBytes: number, take: TakeBlock, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** Number of nodes that are cached across files. Their total size is at most 32 MiB. */
const MAX_RECENT_NODES = 16
const MISSING_STATUSES = [404, 410]

/** The failure of a gateway that responds but doesn't have the block. */
export class NoSuchBlockError extends FetchFailure {
  constructor(message: string) {
    super(message, { isLasting: false })
    this.name = 'NoSuchBlock'
  }
}

/** The failure of a gateway that returns bytes that don't match the CID, such as a web page. */
export class WrongBlockError extends FetchFailure {
  constructor(message: string) {
    super(message, { isLasting: false })
    this.name = 'WrongBlock'
  }
}

export function createBlockSource(options: BlockSourceOptions): BlockSource {
  const { url: base, allowPrivate, userAgent, pace, timeoutMs } = options
  const gateway = new URL(base)
  const name = gateway.host
  const requester = createFileRequester({
    allowPrivate,
    isTrusted: ({ origin }: URL) => origin === gateway.origin,
    userAgent,
    timeoutMs,
    pace,
  })
  const nodes = new BoundedMap<Uint8Array>(MAX_RECENT_NODES)

  const checkedBlock = async (text: string, signal: AbortSignal): Promise<Uint8Array> => {
    const recent = nodes.get(text)
    if (recent !== undefined) return recent
    const bytes = await block(text, signal)
    const cid = parseCid(text)
    if (cid === null || !matchesCid(cid, bytes))
      throw new WrongBlockError(`the IPFS gateway returned bytes that do not match ${text}`)
    if (cid.code !== RAW_CODEC) nodes.set(text, bytes)
    return bytes
  }

  /** Requests content of a CID from the gateway, and reads the response body, which has at most `maxBytes`. */
  async function exchange<Found>(
    { cid, query, type, maxBytes }: { cid: string; query: string; type: string; maxBytes: number },
    signal: AbortSignal,
    read: (body: AsyncGenerator<Uint8Array>) => Promise<Found>,
  ): Promise<Found> {
    const timeLimit = startTimeLimit(timeoutMs, signal)
    const target = { ...checkTarget(`${base}/ipfs/${cid}?${query}`, true), label: `the IPFS gateway ${name}` }
    try {
      const { response } = await requester.follow(target, timeLimit, { accept: type })
      if (response.statusCode !== 200) {
        discardBody(response)
        const message = `${target.label} returned HTTP ${response.statusCode} for ${cid}`
        throw MISSING_STATUSES.includes(response.statusCode) ? new NoSuchBlockError(message) : temporaryError(message)
      }
      const contentEncoding = readHeader(response, 'content-encoding') ?? ''
      const body = decodeBody(response.body, { contentEncoding, label: target.label, maxBytes })
      return await timeLimit.runLimited(target, () => read(limitBody(body, maxBytes, target.label)))
    } catch (error) {
      // The failure is never permanent, because another gateway may have the block, or this gateway may have it later.
      throw error instanceof FetchFailure && error.isLasting ? temporaryError(error.message) : error
    } finally {
      timeLimit.stop()
    }
  }

  const block = (cid: string, signal: AbortSignal): Promise<Uint8Array> =>
    exchange(
      { cid, query: 'format=raw', type: 'application/vnd.ipld.raw', maxBytes: MAX_BLOCK_BYTES },
      signal,
      collectBytes,
    )

  const fetchFileBlocks = async (
    cid: string,
    maxBytes: number,
    take: TakeBlock,
    signal: AbortSignal,
  ): Promise<void> => {
    const type = 'application/vnd.ipld.car; version=1; order=dfs; dups=n'
    const request = { cid, query: 'format=car&dag-scope=entity', type, maxBytes }
    const { readCar } = await import('./read-car.ts')
    await exchange(request, signal, (body) => readCar(body, take))
  }

  return { fetchBlock: checkedBlock, fetchFileBlocks, close: () => requester.close() }
}

async function collectBytes(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  for await (const part of body) parts.push(part)
  return Buffer.concat(parts)
}

export const temporaryError = (message: string) => new FetchFailure(message, { isLasting: false })
