import { backoffMs } from '../core/backoff.ts'
import { systemCode } from '../core/errors.ts'
import { FetchFailure } from '../files/failure.ts'
import { createFetcher } from '../files/fetcher.ts'
import { createPace } from '../files/pace.ts'
import { type BlockSource, createBlockSource, NoSuchBlockError } from '../ipfs/block-source.ts'
import type { TakeBlock } from '../ipfs/cid.ts'
import type { ArchiveLimits } from './limits.ts'
import { MAX_REDIRECTS } from './limits.ts'

export interface GatewayOptions {
  /**
   * Base URLs from the user, without a trailing slash. The URLs may have private addresses, but may not redirect to
   * them.
   */
  urls: readonly string[]
  /** Whether to follow redirects to private addresses, for development. */
  allowPrivate: boolean
  limits: ArchiveLimits
  userAgent: string
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>
}

/** Reads IPFS content from several gateways. */
export interface Gateways {
  /**
   * Returns a block, checked against its CID.
   *
   * @throws FetchFailure; NoSuchBlock if no gateway has it
   */
  block(cid: string, signal: AbortSignal): Promise<Uint8Array>
  /**
   * Requests all blocks of a file at once from a gateway that returns CAR files, and passes them unchecked to `take`.
   * May pass only some blocks or none. `take` throws for an unwanted block, which ends the transfer.
   */
  blocksOf(cid: string, maxBytes: number, take: TakeBlock, signal: AbortSignal): Promise<void>
  /**
   * Returns the content of a file, which isn't checked.
   *
   * @throws FetchFailure
   */
  file(cid: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>
  /** Returns the last failure if no gateway has responded to any request, or else null. */
  unreachableFailure(): FetchFailure | null
  /** Returns a failure if the last request to each gateway failed to connect, or else null. */
  connectionFailure(): FetchFailure | null
  close(): Promise<void>
}

/** Number of consecutive failed CAR files after which no more CAR files are requested from a gateway. */
const MAX_FAILED_CAR_FILES = 3
/** Number of rounds in which a block is requested from all gateways. */
const MAX_ROUNDS = 3
const BACKOFF = { firstMs: 500, maxMs: 10_000 }
const MAX_WAIT_MS = 30_000

/** Returns the wait before a request is repeated, in milliseconds. The server may request a wait of up to 30 s. */
export const retryWaitMs = (attempt: number, requestedMs: number | null | undefined): number =>
  Math.min(requestedMs ?? backoffMs(attempt, BACKOFF), MAX_WAIT_MS)

interface Gateway {
  url: string
  source: BlockSource
  breaker: CircuitBreaker
  /** The number of consecutive CAR files that failed or were empty. Many gateways don't provide CAR files. */
  failedCarFiles: number
  /** The failure of the last request, if the request failed to connect. */
  connectionFailure: FetchFailure | null
}

/** Opens gateways. If a gateway doesn't have a block or returns different bytes for it, the next gateway is tried. */
export function openGateways(options: GatewayOptions): Gateways {
  const { urls, allowPrivate, limits, userAgent, sleep } = options
  const { timeoutMs, maxFileBytes } = limits
  const pace = createPace()
  const gateways = urls.map((url): Gateway => {
    const source = createBlockSource({ url, allowPrivate, userAgent, pace, timeoutMs })
    return { url, source, breaker: new CircuitBreaker(url), failedCarFiles: 0, connectionFailure: null }
  })
  const origins = new Set(urls.map((url) => new URL(url).origin))
  const fetcher = createFetcher({
    allowPrivate,
    isTrusted: ({ origin }) => origins.has(origin),
    allowHtml: true,
    userAgent,
    maxBytes: maxFileBytes,
    timeoutMs,
    maxRedirects: MAX_REDIRECTS,
    pace,
  })

  /** Block requests in flight, by CID. Tokens that are read at the same time share the nodes of their directory. */
  const inFlight = new Map<string, Promise<Uint8Array>>()

  let hasResponded = false
  let lastFailure: FetchFailure | null = null
  const recordResponse = (gateway: Gateway) => {
    hasResponded = true
    gateway.connectionFailure = null
  }
  const recordFailure = (gateway: Gateway, failure: FetchFailure) => {
    if (failure instanceof SkippedGatewayError) return
    gateway.connectionFailure = isDisconnected(failure) ? failure : null
    if (isServerFailure(failure)) lastFailure = failure
    else recordResponse(gateway)
  }

  async function fromAny<Found>(
    signal: AbortSignal,
    fetchFrom: (gateway: Gateway) => Promise<Found>,
    rounds: number,
  ): Promise<Found> {
    for (let round = 1; ; round++) {
      const failures: FetchFailure[] = []
      for (const gateway of gateways) {
        signal.throwIfAborted()
        try {
          const response = await gateway.breaker.watch(() => fetchFrom(gateway))
          recordResponse(gateway)
          return response
        } catch (error) {
          if (!(error instanceof FetchFailure)) throw error
          recordFailure(gateway, error)
          failures.push(error)
        }
      }
      const last = findRetryable(failures)
      if (last === null || round === rounds) throw selectFailure(failures)
      await sleep(retryWaitMs(round, last.retryAfterMs), signal)
    }
  }

  return {
    block(cid, signal) {
      const pendingBlock =
        inFlight.get(cid) ??
        fromAny(signal, ({ source }) => source.fetchBlock(cid, signal), MAX_ROUNDS).finally(() => inFlight.delete(cid))
      inFlight.set(cid, pendingBlock)
      return pendingBlock
    },
    async blocksOf(cid, maxBytes, take, signal) {
      const gateway = gateways.find(({ failedCarFiles }) => failedCarFiles < MAX_FAILED_CAR_FILES)
      if (gateway === undefined) return
      const { source, breaker } = gateway
      let blockCount = 0
      const takeAndCount: TakeBlock = (blockCid, bytes) => {
        take(blockCid, bytes)
        blockCount++
      }
      try {
        await breaker.watch(() => source.fetchFileBlocks(cid, maxBytes, takeAndCount, signal))
      } catch (error) {
        if (!(error instanceof FetchFailure)) throw error
        blockCount = 0
      }
      gateway.failedCarFiles = blockCount === 0 ? gateway.failedCarFiles + 1 : 0
    },
    file: async (cid, signal) =>
      await fromAny(signal, async ({ url }) => (await fetcher.fetchFile(`${url}/ipfs/${cid}`, signal)).content, 1),
    unreachableFailure: () => (hasResponded ? null : lastFailure),
    connectionFailure: () =>
      gateways.every(({ connectionFailure }) => connectionFailure !== null)
        ? (gateways.at(-1)?.connectionFailure ?? null)
        : null,
    async close() {
      await Promise.all([...gateways.map(({ source }) => source.close()), fetcher.close()])
    },
  }
}

const findRetryable = (failures: readonly FetchFailure[]): FetchFailure | null =>
  failures.find((failure) => !(failure instanceof NoSuchBlockError) && !(failure instanceof SkippedGatewayError)) ??
  null

/** Returns the failure to report. Wrong bytes or a missing response are more informative than a missing block. */
const selectFailure = (failures: readonly FetchFailure[]): FetchFailure =>
  findRetryable(failures) ?? failures.at(-1) ?? new FetchFailure('no gateway is specified', { isLasting: true })

/**
 * Number of consecutive failures after which no more requests are sent to a server. Otherwise, each file would wait for
 * the timeout of a dead server.
 */
const MAX_CONSECUTIVE_FAILURES = 24

class SkippedGatewayError extends FetchFailure {}

/** Counts consecutive failures of an origin. */
export class CircuitBreaker {
  readonly #name: string
  #failures = 0

  constructor(url: string) {
    this.#name = new URL(url).host
  }

  /** @throws FetchFailure if the origin failed too often, or if `task` fails */
  async watch<Result>(task: () => Promise<Result>): Promise<Result> {
    if (this.#failures >= MAX_CONSECUTIVE_FAILURES) {
      throw new SkippedGatewayError(`${this.#name} was not used, because it failed ${this.#failures} times in a row`, {
        isLasting: false,
      })
    }
    try {
      const result = await task()
      this.#failures = 0
      return result
    } catch (error) {
      if (error instanceof FetchFailure) this.#failures = isServerFailure(error) ? this.#failures + 1 : 0
      throw error
    }
  }
}

/** Returns whether the server itself failed, and not only the request for one file. */
const isServerFailure = (failure: FetchFailure): boolean => !failure.isLasting && !(failure instanceof NoSuchBlockError)

const CONNECTION_ERROR_CODES = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
])

/**
 * Returns whether the server can't be reached. Closed connections don't count, because public gateways close
 * connections for single files.
 */
function isDisconnected({ cause }: FetchFailure): boolean {
  for (let failure = cause; failure instanceof Error; failure = failure.cause) {
    const all = failure instanceof AggregateError ? [failure, ...failure.errors] : [failure]
    if (all.some((error) => CONNECTION_ERROR_CODES.has(systemCode(error) ?? ''))) return true
  }
  return false
}
