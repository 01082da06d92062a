import type { EndpointName } from '../api/endpoints.ts'
import { HEADERS } from '../api/headers.ts'
import type { Secret } from '../core/secret.ts'
import { ServerFeatures } from './announcements.ts'
import type { ClientPacer, SendPermit } from './pacer.ts'
import { isBackendNotReady } from './responses.ts'
import { retryAfterMs } from './retry-read.ts'
import { type Transport, TransportError, type TransportRequest, type TransportResponse } from './transport.ts'

const DEFAULT_TIMEOUT_MS = 60_000
/** The wait in milliseconds after a 429 that states no duration. */
const DEFAULT_HOLD_MS = 1_000

export interface DispatchOptions {
  apiKey: Secret | null
  transport: Transport
  userAgent: string
  /** Timeout of one attempt in milliseconds. */
  timeoutMs?: number
  /** Limits the request rate of each endpoint. Without a pacer, requests are sent immediately. */
  pacer?: ClientPacer
}

export interface Post {
  /** Name of the endpoint. Null for a path that isn't in the API contract. Such a path has no rate limit. */
  name: EndpointName | null
  url: string
  content: Pick<TransportRequest, 'body' | 'stream'>
  headers: Record<string, string>
  signal?: AbortSignal | undefined
  /** Time to add to the timeout, in milliseconds. */
  extraMs?: number
  /** Called last, when the request may be sent. If the function throws, nothing is sent. */
  beforeSending?: (() => Promise<void>) | undefined
  /** Called if nothing was sent after `beforeSending`, before permission is requested from the pacer again. */
  notSent?: (() => void) | undefined
}

/** Sends the requests of a client. Each request is sent once, with the client's key and within the rate limits. */
export class Dispatch {
  readonly serverFeatures = new ServerFeatures()
  readonly #options: DispatchOptions

  constructor(options: DispatchOptions) {
    this.#options = options
  }

  async post({
    name,
    url,
    content,
    headers,
    signal,
    extraMs = 0,
    beforeSending,
    notSent,
  }: Post): Promise<TransportResponse> {
    const { apiKey, transport, timeoutMs = DEFAULT_TIMEOUT_MS, pacer } = this.#options
    const request: TransportRequest = {
      method: 'POST',
      url,
      headers: {
        ...this.#usualHeaders(),
        ...(apiKey === null ? {} : { [HEADERS.apiKey]: apiKey.reveal() }),
        ...headers,
      },
      ...content,
      timeoutMs: timeoutMs + extraMs,
      signal,
    }
    const once = async (permit: SendPermit | null) => {
      await beforeSending?.()
      const response = await transport.request(
        permit === null ? request : { ...request, maySend: () => permit.isValid() },
      )
      // Observe the response before releasing the permission, because the release shares the server's rate limit with
      // other processes.
      if (name !== null) this.serverFeatures.observe(name, response)
      return response
    }
    return name === null || pacer === undefined ? await once(null) : await sendPaced(pacer, name, signal, once, notSent)
  }

  /** Sends a GET request without the API key. */
  async get(url: string, signal: AbortSignal | undefined): Promise<TransportResponse> {
    const { transport, timeoutMs = DEFAULT_TIMEOUT_MS } = this.#options
    return await transport.request({ method: 'GET', url, headers: this.#usualHeaders(), timeoutMs, signal })
  }

  #usualHeaders(): Record<string, string> {
    return { 'user-agent': this.#options.userAgent, accept: 'application/json' }
  }
}

/**
 * Sends a request when it is permitted. Requests a new permission if the first one expires before anything is sent,
 * because this process was stopped for a while.
 */
async function sendPaced(
  pacer: ClientPacer,
  name: EndpointName,
  signal: AbortSignal | undefined,
  once: (permit: SendPermit) => Promise<TransportResponse>,
  notSent = () => {},
): Promise<TransportResponse> {
  for (;;) {
    const permit = await pacer.enter(name, signal)
    try {
      const response = await once(permit)
      holdAsRequested(pacer, name, response)
      return response
    } catch (error) {
      if (!(error instanceof TransportError)) throw error
      if (error.sent) permit.connectionLost()
      if (error.sent || permit.isValid()) throw error
      notSent()
    } finally {
      permit.done()
    }
  }
}

/** Delays later requests to the endpoint in all processes, after a 429 or after a 503 with Retry-After. */
function holdAsRequested(pacer: ClientPacer, name: EndpointName, response: TransportResponse): void {
  const { status, headers } = response
  // Don't delay requests if the signer lacks funds, because a repeated command must detect at once whether the signer
  // was funded.
  if ((status !== 429 && status !== 503) || isBackendNotReady(response)) return
  const retryAfter = retryAfterMs(headers, Date.now())
  if (status === 429 || retryAfter !== null) pacer.hold(name, Math.max(1, retryAfter ?? DEFAULT_HOLD_MS))
}
