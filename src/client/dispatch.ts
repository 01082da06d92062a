import type { EndpointName } from '../api/endpoints.ts'
import { HEADERS } from '../api/headers.ts'
import type { Secret } from '../core/secret.ts'
import { Announcements } from './announcements.ts'
import { isNotReady } from './answers.ts'
import type { ClientPacer, SendPermit } from './pacer.ts'
import { retryAfterMs } from './retry.ts'
import { type Transport, type TransportAnswer, TransportError, type TransportRequest } from './transport.ts'

const DEFAULT_TIMEOUT_MS = 60_000
/** The wait after a 429 without a duration. */
const DEFAULT_HOLD_MS = 1_000

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
export class Dispatch {
  /** The announcements of the server in its responses. */
  readonly announced = new Announcements()
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
  }: Post): Promise<TransportAnswer> {
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
      const answer = await transport.request(
        permit === null ? request : { ...request, mayLeave: () => permit.isValid() },
      )
      // While the permission is held: releasing it shares the server's limit with the other processes.
      if (name !== null) this.announced.observe(name, answer)
      return answer
    }
    return name === null || pacer === undefined ? await once(null) : await paced(pacer, name, signal, once, notSent)
  }

  /** Sends GET without the key. */
  async get(url: string, signal: AbortSignal | undefined): Promise<TransportAnswer> {
    const { transport, timeoutMs = DEFAULT_TIMEOUT_MS } = this.#options
    return await transport.request({ method: 'GET', url, headers: this.#usualHeaders(), timeoutMs, signal })
  }

  #usualHeaders(): Record<string, string> {
    return { 'user-agent': this.#options.userAgent, accept: 'application/json' }
  }
}

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

/**
 * Delays requests as a response asks. 429 and Retry-After apply to every request of that endpoint, from any process.
 */
function holdAsAsked(pacer: ClientPacer, name: EndpointName, answer: TransportAnswer): void {
  const { status, headers } = answer
  // The same command, run again, has to see at once whether the signer has funds by then.
  if ((status !== 429 && status !== 503) || isNotReady(answer)) return
  const asked = retryAfterMs(headers, Date.now())
  if (status === 429 || asked !== null) pacer.hold(name, Math.max(1, asked ?? DEFAULT_HOLD_MS))
}
