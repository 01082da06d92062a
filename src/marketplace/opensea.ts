import type { Blockchain } from '../api/blockchains.ts'
import { retryAfterMs } from '../client/retry-read.ts'
import { type Transport, TransportError, type TransportResponse } from '../client/transport.ts'
import { backoffMs } from '../core/backoff.ts'
import { GdnError } from '../core/errors.ts'
import { excerpt, textOrJson } from '../core/excerpt.ts'
import { isRecord, parseJson } from '../core/json.ts'
import type { Secret } from '../core/secret.ts'

export const OPENSEA_URL = 'https://api.opensea.io'

/**
 * OpenSea's network names. OpenSea doesn't list testnets. Source, as of 2026-11-28:
 * https://projectopensea.github.io/opensea-js/enums/Chain.html
 */
const CHAIN_NAMES: Readonly<Record<string, string>> = {
  ethereum: 'ethereum',
  polygon: 'polygon',
  'arbitrum-one': 'arbitrum',
  avalanche: 'avalanche',
  base: 'base',
  optimism: 'optimism',
  zora: 'zora',
}

/**
 * Returns OpenSea's name for a network.
 *
 * @throws GdnError `usage` if OpenSea doesn't list NFTs on the network
 */
export function openSeaChain(blockchain: Blockchain): string {
  const name = Object.hasOwn(CHAIN_NAMES, blockchain) ? CHAIN_NAMES[blockchain] : undefined
  if (name !== undefined) return name
  throw new GdnError('usage', `OpenSea doesn't list NFTs on ${blockchain}`, {
    hint: `Nothing was sent to OpenSea. OpenSea lists NFTs on ${Object.keys(CHAIN_NAMES).join(', ')}.`,
  })
}

export interface OpenSeaOptions {
  /** URL of OpenSea's API, without a trailing slash. */
  url: string
  key: Secret
  transport: Transport
  userAgent: string
  signal: AbortSignal
  /** Maximum number of requests per second. */
  rate: number
  now(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Called before waiting for the rate limit. */
  onWait?(ms: number): void
}

const TIMEOUT_MS = 30_000
const MAX_RESPONSE_BYTES = 256 * 1024
const MAX_ATTEMPTS = 3
/** Maximum number of rate-limited requests for one NFT. Without this limit, a server could make gdn wait forever. */
const MAX_RATE_LIMITED_ATTEMPTS = 10
const BACKOFF = { firstMs: 1000, maxMs: 8000 }
/** Maximum wait for the rate limit in milliseconds. Free keys have hourly limits. */
const MAX_WAIT_MS = 5 * 60_000
/** The wait in milliseconds after a 429 that states no duration. */
const DEFAULT_WAIT_MS = 10_000

/**
 * Returns the wait that a response requests, in milliseconds: `Retry-After`, or `X-RateLimit-Reset`, which is a Unix
 * time in seconds (https://docs.opensea.io/reference/api-keys).
 */
function parseWaitMs(headers: TransportResponse['headers'], wallClock: number): number {
  const after = retryAfterMs(headers, wallClock)
  if (after !== null) return after
  const reset = Number(headers['x-ratelimit-reset'])
  return reset > 0 ? Math.max(0, reset * 1000 - wallClock) : DEFAULT_WAIT_MS
}

/** Returns the reason why a request was rejected. The response is untrusted, and may quote the request. */
function rejectionReason({ status, body }: TransportResponse): string {
  const json = parseJson(Buffer.from(body).toString('utf8'))
  const errors = isRecord(json) ? (json.errors ?? json.message ?? json.detail) : undefined
  const text = Array.isArray(errors) ? errors.map(textOrJson).join(', ') : typeof errors === 'string' ? errors : ''
  return text === '' ? `HTTP ${status}` : `HTTP ${status}: ${excerpt(text)}`
}

const isHtmlPage = ({ headers, body }: TransportResponse) =>
  /\bhtml\b/i.test(headers['content-type'] ?? '') || /^\s*</.test(Buffer.from(body.subarray(0, 100)).toString('latin1'))

/** Asks OpenSea to refresh the metadata of NFTs. Repeating a request has no additional effect. */
export class OpenSeaClient {
  readonly #options: OpenSeaOptions
  readonly #host: string
  #nextRequestMs = 0

  constructor(options: OpenSeaOptions) {
    this.#options = options
    this.#host = new URL(options.url).host
  }

  /**
   * Requests a metadata refresh for an NFT within OpenSea's rate limit. Returns null, or the reason why OpenSea
   * rejected the request.
   *
   * @param chain OpenSea's name for the network
   * @throws GdnError `unauthorized`, `forbidden`, `rate_limited`, `bad_answer` or `unreachable`, after which other
   * requests would also fail
   */
  async refresh(chain: string, contract: string, tokenId: string): Promise<string | null> {
    const [address, id] = [contract, tokenId].map(encodeURIComponent)
    const url = `${this.#options.url}/api/v2/chain/${chain}/contract/${address}/nfts/${id}/refresh`
    let limited = 0
    for (let attempt = 1; ; ) {
      const response = await this.#requestOnce(url)
      if (response instanceof TransportError || response.status >= 500) {
        const why = response instanceof TransportError ? excerpt(response.message) : `HTTP ${response.status}`
        if (attempt >= MAX_ATTEMPTS)
          throw this.#error('unreachable', `can't be reached: ${why}`, 'Run the same command again later.')
        await this.#options.sleep(backoffMs(attempt++, BACKOFF), this.#options.signal)
      } else if (response.status === 429) {
        if (++limited === MAX_RATE_LIMITED_ATTEMPTS) {
          throw this.#error(
            'rate_limited',
            `rejected ${MAX_RATE_LIMITED_ATTEMPTS} requests in a row`,
            'Run the same command again later.',
          )
        }
        await this.#waitFor(response)
      } else return this.#readResult(response)
    }
  }

  #readResult(response: TransportResponse): string | null {
    const { status } = response
    if (status === 401) {
      throw this.#error(
        'unauthorized',
        'rejected the API key',
        'Check the key in --opensea-key-file or GDN_OPENSEA_KEY.',
      )
    }
    if (status === 403) throw this.#error('forbidden', `rejected the request: ${rejectionReason(response)}`)
    if (status >= 300 && status < 400) {
      throw this.#error('bad_answer', `redirects with HTTP ${status}, which gdn doesn't follow`, 'Check --opensea-url.')
    }
    if (status >= 400) return isHtmlPage(response) ? `HTTP ${status}` : rejectionReason(response)
    if (status < 200 || isHtmlPage(response)) {
      throw this.#error(
        'bad_answer',
        `returned an HTML page instead of an API response: HTTP ${status}`,
        'Check --opensea-url.',
      )
    }
    return null
  }

  async #requestOnce(url: string): Promise<TransportResponse | TransportError> {
    const { transport, key, userAgent, signal, rate, now, sleep } = this.#options
    const wait = this.#nextRequestMs - now()
    if (wait > 0) await sleep(wait, signal)
    this.#nextRequestMs = now() + 1000 / rate
    try {
      return await transport.request({
        method: 'POST',
        url,
        headers: { accept: 'application/json', 'user-agent': userAgent, 'x-api-key': key.reveal() },
        body: new Uint8Array(),
        timeoutMs: TIMEOUT_MS,
        maxBytes: MAX_RESPONSE_BYTES,
        signal,
      })
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof TransportError) return error
      throw error
    }
  }

  async #waitFor({ headers }: TransportResponse): Promise<void> {
    const wait = parseWaitMs(headers, Date.now())
    if (wait > MAX_WAIT_MS) {
      const minutes = Math.ceil(wait / 60_000)
      throw this.#error(
        'rate_limited',
        `accepts the next request in ${minutes} min`,
        'Run the same command again after that time.',
      )
    }
    this.#options.onWait?.(wait)
    await this.#options.sleep(wait, this.#options.signal)
  }

  #error(
    code: 'unauthorized' | 'forbidden' | 'rate_limited' | 'bad_answer' | 'unreachable',
    problem: string,
    hint?: string,
  ) {
    return new GdnError(code, `${this.#host} ${problem}`, { hint })
  }
}
