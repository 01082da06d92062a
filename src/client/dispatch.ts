import type { Blockchain } from '../api/blockchains.ts'
import type { EndpointName } from '../api/endpoints.ts'
import { CAPABILITIES, type Capability, HEADERS } from '../api/headers.ts'
import type { Secret } from '../core/secret.ts'
import { isNotReady, PASSING } from './answers.ts'
import type { ClientPacer, SendPermit } from './pacer.ts'
import { type ObservedRateLimit, parseRateLimitPolicy } from './rate-limit-policy.ts'
import { retryAfterMs } from './retry.ts'
import { type Transport, type TransportAnswer, TransportError, type TransportRequest } from './transport.ts'

const DEFAULT_TIMEOUT_MS = 60_000
/** The wait after a 429 without a duration. */
const DEFAULT_HOLD_MS = 1_000
const ANNOUNCED = Object.entries(CAPABILITIES) as [Capability, string][]

export interface DispatchOptions {
  apiKey: Secret | null
  transport: Transport
  userAgent: string
  /** Timeout of one attempt. */
  timeoutMs?: number
  /** Permits every request to an endpoint. Without it, each is sent at once. */
  pacer?: ClientPacer
}

export interface Post {
  /** Null for a path that is no endpoint of the contract, which has no rate limit. */
  name: EndpointName | null
  url: string
  content: Pick<TransportRequest, 'body' | 'stream'>
  headers: Record<string, string>
  signal?: AbortSignal | undefined
  /** Milliseconds in addition to the timeout. */
  extraMs?: number
  /** Called when sending is permitted and nothing else precedes it. If it throws, no byte is sent. */
  beforeSending?: (() => Promise<void>) | undefined
  /** Called after that when no byte was sent after all, and permission is requested again. */
  notSent?: (() => void) | undefined
}

/** Sends the requests of one client, each once, with its key and at its rate. */
export interface Dispatch {
  post(request: Post): Promise<TransportAnswer>
  /** Sends GET without the key. */
  get(url: string, signal: AbortSignal | undefined): Promise<TransportAnswer>
  /** What the server said about itself; see `ApiClient`. */
  supports(capability: Capability): boolean | null
  /** Null until a backend of ours has responded. */
  incarnation(): string | null
  hasNoValue(blockchain: Blockchain | null): boolean | null
  /** Relies on this response alone, not on those of other endpoints; null if it doesn't say. */
  learn(answer: TransportAnswer): boolean | null
  observedRateLimit(name: EndpointName): ObservedRateLimit | null
}

export function createDispatch(options: DispatchOptions): Dispatch {
  const { apiKey, transport, userAgent, timeoutMs = DEFAULT_TIMEOUT_MS, pacer } = options
  const capabilities = new Map<Capability, boolean>()
  /** Null until the server has responded. */
  let withoutValue: ReadonlySet<string> | null = null
  let incarnation: string | null = null
  const rateLimits = new Map<EndpointName, ObservedRateLimit>()

  function observe(name: EndpointName, { status, headers }: TransportAnswer): void {
    // A response of a proxy says nothing about the server.
    const isOfServer = status < 500 && /json/.test(headers['content-type'] ?? '')
    for (const [capability, header] of ANNOUNCED) {
      if (headers[header] === 'yes') capabilities.set(capability, true)
      else if (isOfServer && !capabilities.has(capability)) capabilities.set(capability, false)
    }
    // The last response counts: a restarted server may have other networks.
    if (isOfServer || headers[HEADERS.blockchainsWithoutValue] !== undefined) withoutValue = namesWithoutValue(headers)
    incarnation = headers[HEADERS.incarnation] ?? incarnation
    const limit = parseRateLimitPolicy(headers[HEADERS.rateLimitPolicy], name)
    if (limit !== null) rateLimits.set(name, limit)
  }

  return {
    async post({ name, url, content, headers, signal, extraMs = 0, beforeSending, notSent }) {
      const request: TransportRequest = {
        method: 'POST',
        url,
        headers: {
          'user-agent': userAgent,
          accept: 'application/json',
          ...(apiKey === null ? {} : { [HEADERS.apiKey]: apiKey.reveal() }),
          ...headers,
        },
        ...content,
        timeoutMs: timeoutMs + extraMs,
        signal,
      }
      const once = async (permit: SendPermit | null) => {
        await beforeSending?.()
        const answer = await transport.request(
          permit === null ? request : { ...request, mayLeave: () => permit.isValid() },
        )
        // While the permission is held: releasing it shares the server's limit with the other processes.
        if (name !== null) observe(name, answer)
        return answer
      }
      return name === null || pacer === undefined ? await once(null) : await paced(pacer, name, signal, once, notSent)
    },
    async get(url, signal) {
      const headers = { 'user-agent': userAgent, accept: 'application/json' }
      return await transport.request({
        method: 'GET',
        url,
        headers,
        timeoutMs,
        signal,
      })
    },
    supports: (capability) => capabilities.get(capability) ?? null,
    incarnation: () => incarnation,
    hasNoValue: (blockchain) =>
      withoutValue && (withoutValue.has('*') || (blockchain !== null && withoutValue.has(blockchain))),
    learn({ status, headers }) {
      const isHonored = headers[CAPABILITIES.idempotency] === 'yes'
      if (!isHonored && (status >= 500 || PASSING.has(status))) return null
      for (const [capability, header] of ANNOUNCED) capabilities.set(capability, headers[header] === 'yes')
      withoutValue = namesWithoutValue(headers)
      return isHonored
    },
    observedRateLimit: (name) => rateLimits.get(name) ?? null,
  }
}

/** Returns the blockchains whose coins have no value, as the server says; `*` stands for all. */
const namesWithoutValue = (headers: TransportAnswer['headers']): ReadonlySet<string> =>
  new Set(headers[HEADERS.blockchainsWithoutValue]?.split(',').map((name) => name.trim()))

/**
 * Sends with permission. If it expired before a byte was sent, because this process was stopped, a new one is acquired.
 */
async function paced(
  pacer: ClientPacer,
  name: EndpointName,
  signal: AbortSignal | undefined,
  once: (permit: SendPermit) => Promise<TransportAnswer>,
  notSent = () => {},
): Promise<TransportAnswer> {
  for (;;) {
    const permit = await pacer.enter(name, signal)
    try {
      const answer = await once(permit)
      holdAsAsked(pacer, name, answer)
      return answer
    } catch (error) {
      if (!(error instanceof TransportError)) throw error
      if (error.sent) permit.cut()
      if (error.sent || permit.isValid()) throw error
      notSent()
    } finally {
      permit.done()
    }
  }
}

/** 429 and Retry-After apply to every request of that endpoint, from any process. */
function holdAsAsked(pacer: ClientPacer, name: EndpointName, answer: TransportAnswer): void {
  const { status, headers } = answer
  // The same command, run again, has to see at once whether the signer has funds by then.
  if ((status !== 429 && status !== 503) || isNotReady(answer)) return
  const asked = retryAfterMs(headers, Date.now())
  if (status === 429 || asked !== null) pacer.hold(name, Math.max(1, asked ?? DEFAULT_HOLD_MS))
}
