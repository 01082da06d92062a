import { backoffMs } from '../core/backoff.ts'
import { systemCode } from '../core/errors.ts'
import { FetchFailure } from '../files/failure.ts'
import { createFetcher } from '../files/fetcher.ts'
import { createPace } from '../files/pace.ts'
import { type BlockSource, createBlockSource, NoSuchBlock } from '../ipfs/block-source.ts'
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
  unreachable(): FetchFailure | null
  /** Returns a failure if the last request to each gateway failed to connect, or else null. */
  disconnected(): FetchFailure | null
  close(): Promise<void>
}

/** Number of consecutive failed CAR files after which no more CAR files are requested from a gateway. */
const CAR_ATTEMPTS = 3
/** Number of rounds in which a block is requested from all gateways. */
const ROUNDS = 3
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
  withoutCar: number
  /** The failure of the last request, if the request failed to connect. */
  disconnected: FetchFailure | null
}

/** Opens gateways. If a gateway doesn't have a block or returns different bytes for it, the next gateway is tried. */
export function openGateways(options: GatewayOptions): Gateways {
  const { urls, allowPrivate, limits, userAgent, sleep } = options
  const { timeoutMs, fileBytes } = limits
  const pace = createPace()
  const gateways = urls.map((url): Gateway => {
    const source = createBlockSource({ url, allowPrivate, userAgent, pace, timeoutMs })
    return { url, source, breaker: new CircuitBreaker(url), withoutCar: 0, disconnected: null }
  })
  const origins = new Set(urls.map((url) => new URL(url).origin))
  const fetcher = createFetcher({
    allowPrivate,
    isTrusted: ({ origin }) => origins.has(origin),
    allowHtml: true,
    userAgent,
    maxBytes: fileBytes,
    timeoutMs,
    maxRedirects: MAX_REDIRECTS,
    pace,
  })

  /** Block requests in flight, by CID. Tokens that are read at the same time share the nodes of their directory. */
  const inFlight = new Map<string, Promise<Uint8Array>>()

  let hasAnswered = false
  let lastFailure: FetchFailure | null = null
  const noteAnswer = (gateway: Gateway) => {
    hasAnswered = true
    gateway.disconnected = null
  }
  const noteFailure = (gateway: Gateway, failure: FetchFailure) => {
    if (failure instanceof SkippedGatewayError) return
    gateway.disconnected = isDisconnected(failure) ? failure : null
    if (isOfServer(failure)) lastFailure = failure
    else noteAnswer(gateway)
  }

  async function fromAny<Found>(
    signal: AbortSignal,
    ask: (gateway: Gateway) => Promise<Found>,
    rounds: number,
  ): Promise<Found> {
    for (let round = 1; ; round++) {
      const failures: FetchFailure[] = []
      for (const gateway of gateways) {
        signal.throwIfAborted()
        try {
          const response = await gateway.breaker.watch(() => ask(gateway))
          noteAnswer(gateway)
          return response
        } catch (error) {
          if (!(error instanceof FetchFailure)) throw error
          noteFailure(gateway, error)
          failures.push(error)
        }
      }
      const last = findRetryable(failures)
      if (last === null || round === rounds) throw reportedError(failures)
      await sleep(retryWaitMs(round, last.retryAfterMs), signal)
    }
  }

  return {
    block(cid, signal) {
      const asking =
        inFlight.get(cid) ??
        fromAny(signal, ({ source }) => source.block(cid, signal), ROUNDS).finally(() => inFlight.delete(cid))
      inFlight.set(cid, asking)
      return asking
    },
    async blocksOf(cid, maxBytes, take, signal) {
      const gateway = gateways.find(({ withoutCar }) => withoutCar < CAR_ATTEMPTS)
      if (gateway === undefined) return
      const { source, breaker } = gateway
      let blockCount = 0
      const takeAndCount: TakeBlock = (blockCid, bytes) => {
        take(blockCid, bytes)
        blockCount++
      }
      try {
        await breaker.watch(() => source.file(cid, maxBytes, takeAndCount, signal))
      } catch (error) {
        if (!(error instanceof FetchFailure)) throw error
        blockCount = 0
      }
      gateway.withoutCar = blockCount === 0 ? gateway.withoutCar + 1 : 0
    },
    file: async (cid, signal) =>
      await fromAny(signal, async ({ url }) => (await fetcher.fetchFile(`${url}/ipfs/${cid}`, signal)).content, 1),
    unreachable: () => (hasAnswered ? null : lastFailure),
    disconnected: () =>
      gateways.every(({ disconnected }) => disconnected !== null) ? (gateways.at(-1)?.disconnected ?? null) : null,
    async close() {
      await Promise.all([...gateways.map(({ source }) => source.close()), fetcher.close()])
    },
  }
}

const findRetryable = (failures: readonly FetchFailure[]): FetchFailure | null =>
  failures.find((failure) => !(failure instanceof NoSuchBlock) && !(failure instanceof SkippedGatewayError)) ?? null

/** Returns the failure to report. Wrong bytes or a missing response are more informative than a missing block. */
const reportedError = (failures: readonly FetchFailure[]): FetchFailure =>
  findRetryable(failures) ?? failures.at(-1) ?? new FetchFailure('no gateway is specified', { lasting: true })

/**
 * Number of consecutive failures after which no more requests are sent to a server. Otherwise, each file would wait for
 * the timeout of a dead server.
 */
const MAX_FAILURES = 24

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
    if (this.#failures >= MAX_FAILURES) {
      throw new SkippedGatewayError(`${this.#name} was not used, because it failed ${this.#failures} times in a row`, {
        lasting: false,
      })
    }
    try {
      const result = await task()
      this.#failures = 0
      return result
    } catch (error) {
      if (error instanceof FetchFailure) this.#failures = isOfServer(error) ? this.#failures + 1 : 0
      throw error
    }
  }
}

/** Returns whether the server itself failed, and not only the request for one file. */
const isOfServer = (failure: FetchFailure): boolean => !failure.lasting && !(failure instanceof NoSuchBlock)

const NO_CONNECTION = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'])

/**
 * Returns whether the server can't be reached. Closed connections don't count, because public gateways close
 * connections for single files.
 */
function isDisconnected({ cause }: FetchFailure): boolean {
  for (let failure = cause; failure instanceof Error; failure = failure.cause) {
    const all = failure instanceof AggregateError ? [failure, ...failure.errors] : [failure]
    if (all.some((error) => NO_CONNECTION.has(systemCode(error) ?? ''))) return true
  }
  return false
}
