import type { Blockchain } from '../api/blockchains.ts'
import type { EndpointName } from '../api/endpoints.ts'
import { CAPABILITIES, type Capability, HEADERS } from '../api/headers.ts'
import { isTemporaryStatus } from '../core/http-status.ts'
import type { TransportResponse } from './transport.ts'

const CAPABILITY_HEADERS = Object.entries(CAPABILITIES) as [Capability, string][]

/** Collects what a server reports in its response headers: capabilities, rate limits and the server's identity. */
export class ServerFeatures {
  readonly #capabilities = new Map<Capability, boolean>()
  readonly #rateLimits = new Map<EndpointName, ObservedRateLimit>()
  /** The blockchains whose coins have no value. Null until the server has responded. */
  #withoutValue: ReadonlySet<string> | null = null
  #incarnation: string | null = null

  /** Records what the headers of an endpoint's response report. */
  observe(name: EndpointName, { status, headers }: TransportResponse): void {
    // A proxy's response doesn't show what the server supports.
    const isOfServer = status < 500 && /json/.test(headers['content-type'] ?? '')
    for (const [capability, header] of CAPABILITY_HEADERS) {
      if (headers[header] === 'yes') this.#capabilities.set(capability, true)
      else if (isOfServer && !this.#capabilities.has(capability)) this.#capabilities.set(capability, false)
    }
    // Only the latest response counts, because a restarted server may have different networks.
    if (isOfServer || headers[HEADERS.blockchainsWithoutValue] !== undefined) {
      this.#withoutValue = namesWithoutValue(headers)
    }
    this.#incarnation = headers[HEADERS.incarnation] ?? this.#incarnation
    const limit = parseRateLimitPolicy(headers[HEADERS.rateLimitPolicy], name)
    if (limit !== null) this.#rateLimits.set(name, limit)
  }

  /**
   * Records the capabilities in one response, and discards those in earlier responses. Returns whether the server
   * honors Idempotency-Key, or null if the response doesn't show this.
   */
  learn({ status, headers }: TransportResponse): boolean | null {
    const isHonored = headers[CAPABILITIES.idempotency] === 'yes'
    if (!isHonored && isTemporaryStatus(status)) return null
    for (const [capability, header] of CAPABILITY_HEADERS) this.#capabilities.set(capability, headers[header] === 'yes')
    this.#withoutValue = namesWithoutValue(headers)
    return isHonored
  }

  /** This method and the following ones are documented in `ApiClient`. */
  supports(capability: Capability): boolean | null {
    return this.#capabilities.get(capability) ?? null
  }

  incarnation(): string | null {
    return this.#incarnation
  }

  hasNoValue(blockchain: Blockchain | null): boolean | null {
    const names = this.#withoutValue
    return names && (names.has('*') || (blockchain !== null && names.has(blockchain)))
  }

  observedRateLimit(name: EndpointName): ObservedRateLimit | null {
    return this.#rateLimits.get(name) ?? null
  }
}

/** Returns the blockchains whose coins have no value, according to the server. `*` means all blockchains. */
const namesWithoutValue = (headers: TransportResponse['headers']): ReadonlySet<string> =>
  new Set(headers[HEADERS.blockchainsWithoutValue]?.split(',').map((name) => name.trim()))

/** The rate limit that a server states for an endpoint. Null means no limit. */
export interface ObservedRateLimit {
  perSecond: number | null
}

/** Maximum length of the header. The time to parse a malicious header grows with the square of its length. */
const MAX_POLICY_LENGTH = 2000

const ITEM = /^\s*(?:"((?:[^"\\]|\\.)*)"|([A-Za-z*][\w.:*/-]*))\s*((?:;[^,]*)?)$/

/**
 * Parses `RateLimit-Policy: "createnft";q=2;w=1` (IETF draft-ietf-httpapi-ratelimit-headers, a list of structured
 * fields). Uses the items that are named after the endpoint, or all items if there are none. The strictest item
 * applies. An item without a quota means no limit. Returns null if the header is missing or unusable.
 */
export function parseRateLimitPolicy(header: string | undefined, endpoint: string): ObservedRateLimit | null {
  if (header === undefined || header.length > MAX_POLICY_LENGTH) return null
  const items = splitList(header).flatMap((text) => parseItem(text))
  const endpointItems = items.filter(({ name }) => name === endpoint)
  const rates = (endpointItems.length > 0 ? endpointItems : items).map(({ perSecond }) => perSecond)
  if (rates.length === 0) return null
  const limits = rates.filter((rate) => rate !== null)
  return { perSecond: limits.length === 0 ? null : Math.min(...limits) }
}

function splitList(header: string): string[] {
  return header.match(/(?:"(?:[^"\\]|\\.)*"|[^,"])+/g) ?? []
}

function parseItem(text: string): { name: string; perSecond: number | null }[] {
  const match = ITEM.exec(text)
  if (match === null) return []
  const name = match[1] ?? match[2] ?? ''
  const quota = parameter(match[3] ?? '', 'q')
  if (quota === null) return [{ name, perSecond: null }]
  const window = parameter(match[3] ?? '', 'w')
  return window === null || window === 0 ? [] : [{ name, perSecond: quota / window }]
}

function parameter(parameters: string, name: string): number | null {
  const match = new RegExp(`;\\s*${name}=(\\d{1,9})\\s*(?:;|$)`).exec(parameters)
  return match === null ? null : Number(match[1])
}
