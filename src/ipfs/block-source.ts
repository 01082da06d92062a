import { BoundedMap } from '../core/bounded-map.ts'
import { decodeBody, limitBody } from '../files/body.ts'
import { createFileRequester, discard, headerOf, startTimeLimit } from '../files/exchange.ts'
import { FetchFailure } from '../files/failure.ts'
import type { Pace } from '../files/pace.ts'
import { checkTarget } from '../files/target.ts'
import { MAX_BLOCK_BYTES, matchesCid, parseCid, RAW, type TakeBlock } from './cid.ts'

export interface BlockSourceOptions {
  /** Base URL of a trustless gateway, without a trailing slash: blocks are at `/ipfs/<cid>?format=raw`. */
  url: string
  /** Whether to follow redirects to private addresses and to any port, for development. */
  allowPrivate: boolean
  userAgent: string
  pace?: Pace | undefined
  /** Timeout for each block in milliseconds. */
  timeoutMs: number
}

/** Blocks from a trustless gateway. */
export interface BlockSource {
  /**
   * Returns a block, checked against its CID. Caches nodes, because the files of a collection share the nodes of their
   * directory.
   *
   * @throws FetchFailure, never lasting: another gateway may have the block, or this one may have it later
   */
  block(cid: string, signal: AbortSignal): Promise<Uint8Array>
  /**
   * Passes the blocks of a file to `take`, from one CAR file, which only some gateways return. Their bytes are not
   * checked.
   *
   * @param maxBytes maximum size of the CAR file
   * @throws FetchFailure, never lasting, also for an error of `take`
   */
  file(cid: string, maxBytes: number, take: TakeBlock, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** Number of nodes that are cached across files, at most 32 MiB in total. */
const RECENT_NODES = 16
const MISSING = [404, 410]

/** The failure of a gateway that responds, but doesn't have the block. */
export class NoSuchBlock extends FetchFailure {
  constructor(message: string) {
    super(message, { lasting: false })
    this.name = 'NoSuchBlock'
  }
}

/** The failure of a gateway that returns other bytes than those of the CID, such as a page. */
export class WrongBlock extends FetchFailure {
  constructor(message: string) {
    super(message, { lasting: false })
    this.name = 'WrongBlock'
  }
}

export function createBlockSource(options: BlockSourceOptions): BlockSource {
  const { url: base, allowPrivate, userAgent, pace, timeoutMs } = options
  const gateway = new URL(base)
  const name = gateway.host
  const asker = createFileRequester({
    allowPrivate,
    isTrusted: ({ origin }: URL) => origin === gateway.origin,
    userAgent,
    timeoutMs,
    pace,
  })
  const nodes = new BoundedMap<Uint8Array>(RECENT_NODES)

  const checkedBlock = async (text: string, signal: AbortSignal): Promise<Uint8Array> => {
    const recent = nodes.get(text)
    if (recent !== undefined) return recent
    const bytes = await block(text, signal)
    const cid = parseCid(text)
    if (cid === null || !matchesCid(cid, bytes))
      throw new WrongBlock(`the IPFS gateway returned other bytes for ${text}`)
    if (cid.code !== RAW) nodes.set(text, bytes)
    return bytes
  }

  /** Requests something of a CID, and reads its body, which has at most `maxBytes`. */
  async function exchange<Found>(
    { cid, query, type, maxBytes }: { cid: string; query: string; type: string; maxBytes: number },
    signal: AbortSignal,
    read: (body: AsyncGenerator<Uint8Array>) => Promise<Found>,
  ): Promise<Found> {
    const timeLimit = startTimeLimit(timeoutMs, signal)
    const target = { ...checkTarget(`${base}/ipfs/${cid}?${query}`, true), label: `the IPFS gateway ${name}` }
    try {
      const { response } = await asker.follow(target, timeLimit, { accept: type })
      if (response.statusCode !== 200) {
        discard(response)
        const message = `${target.label} returned HTTP ${response.statusCode} for ${cid}`
        throw MISSING.includes(response.statusCode) ? new NoSuchBlock(message) : passing(message)
      }
      const contentEncoding = headerOf(response, 'content-encoding') ?? ''
      const body = decodeBody(response.body, { contentEncoding, label: target.label, maxBytes })
      return await timeLimit.during(target, () => read(limitBody(body, maxBytes, target.label)))
    } catch (error) {
      // The failure is never permanent: another gateway may have the block, or this one may have it later.
      throw error instanceof FetchFailure && error.lasting ? passing(error.message) : error
    } finally {
      timeLimit.stop()
    }
  }

  const block = (cid: string, signal: AbortSignal): Promise<Uint8Array> =>
    exchange({ cid, query: 'format=raw', type: 'application/vnd.ipld.raw', maxBytes: MAX_BLOCK_BYTES }, signal, collect)

  const file = async (cid: string, maxBytes: number, take: TakeBlock, signal: AbortSignal): Promise<void> => {
    const type = 'application/vnd.ipld.car; version=1; order=dfs; dups=n'
    const wanted = { cid, query: 'format=car&dag-scope=entity', type, maxBytes }
    const { readCar } = await import('./read-car.ts')
    await exchange(wanted, signal, (body) => readCar(body, take))
  }

  return { block: checkedBlock, file, close: () => asker.close() }
}

async function collect(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  for await (const part of body) parts.push(part)
  return Buffer.concat(parts)
}

const passing = (message: string) => new FetchFailure(message, { lasting: false })
