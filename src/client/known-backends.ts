import { HEADERS } from '../api/headers.ts'
import { GdnError } from '../core/errors.ts'
import { isTemporaryStatus } from '../core/http-status.ts'
import { parseJson } from '../core/json.ts'
import { bootClock } from '../core/time.ts'
import type { Backend } from './backend.ts'
import { badResponseError, describeResponse } from './responses.ts'
import { SYSTEM_RETRY_CLOCK } from './retry-clock.ts'
import { retryRead } from './retry-read.ts'
import { type Transport, TransportError, type TransportRequest, type TransportResponse } from './transport.ts'

type BackendIdentity = Pick<Backend, 'id' | 'incarnation'>

const HEALTH_TIMEOUT_MS = 10_000
/** Maximum size of the response in bytes, because a hosted service may return a web page for any path. */
const MAX_HEALTH_BYTES = 1024 * 1024
/** Time in milliseconds for which gdn assumes, after a response, that the backend still has its address. */
const IDENTITY_TTL_MS = 10_000

const NO_IDENTITY: BackendIdentity = { id: null, incarnation: null }
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

interface CachedIdentity {
  identity: BackendIdentity
  trustedUntil: number
}

/**
 * The identities of the servers that this process has used. If a server has an ID, any ID in a response is checked, and
 * a request fails if another backend responds. After a failed request or a pause, the ID is checked before the next
 * request, without sending the key.
 */
export class KnownBackends {
  readonly #userAgent: string
  readonly #now: () => number
  readonly #known = new Map<string, CachedIdentity>()
  /** Base URLs to which nothing may be sent, with the reasons. */
  readonly #closed = new Map<string, GdnError>()

  constructor(userAgent: string, now: () => number = bootClock) {
    this.#userAgent = userAgent
    this.#now = now
  }

  /**
   * Returns the identity of the backend at a base URL. Reads the identity once per process.
   *
   * @param how `patiently` retries temporary failures for up to 30 s
   * @throws GdnError `unreachable`, or `bad_answer` if the ID isn't a UUID
   */
  async identify(
    transport: Transport,
    baseUrl: string,
    { how, signal }: { how: 'once' | 'patiently'; signal: AbortSignal },
  ): Promise<BackendIdentity> {
    const backend = this.#known.get(baseUrl)
    if (backend !== undefined) return backend.identity
    const url = healthUrl(baseUrl)
    const once = () => this.#requestHealth(transport, url, signal)
    const response = await retryRead(url, SYSTEM_RETRY_CLOCK, signal, once, how === 'once' ? 1 : undefined)
    const identity = parseIdentity(url, response)
    this.#closed.delete(baseUrl)
    this.#known.set(baseUrl, { identity, trustedUntil: this.#now() + IDENTITY_TTL_MS })
    return identity
  }

  /** Blocks further requests to a base URL, because its backend couldn't be identified. */
  close(baseUrl: string, reason: GdnError): void {
    this.#closed.set(baseUrl, reason)
  }

  /**
   * Wraps a transport so that requests fail if another backend has replaced the one that was identified at a base URL.
   * Another backend can still receive a request within `IDENTITY_TTL_MS` of the last response. The response then
   * reveals the other backend. If no backend was identified, or if the backend has no ID, requests are not checked.
   *
   * @param isLocal whether the server runs on this machine, where another backend can take its port within a second.
   * The ID is then checked again for each new connection
   */
  guard(transport: Transport, baseUrl: string, { isLocal = false } = {}): Transport {
    // The latest check, shared by concurrent requests. Null if the next request must start a new check.
    let checked: Promise<void> | null = isLocal ? null : Promise.resolve()
    if (isLocal) {
      transport.onDisconnect?.(() => {
        checked = null
      })
    }
    return {
      request: async (request) => {
        const closed = this.#closed.get(baseUrl)
        if (closed !== undefined) throw new TransportError(closed.message, false, closed)
        const backend = this.#known.get(baseUrl)
        if (backend === undefined || backend.identity.id === null) {
          return await transport.request(request)
        }
        if (checked === null || this.#now() > backend.trustedUntil) {
          const check = this.#check(transport, baseUrl, backend.identity, request.signal)
          checked = check
          check.catch(() => {
            if (checked === check) checked = isLocal ? null : Promise.resolve()
          })
        }
        await checked
        try {
          const response = await transport.request(request)
          const problem = findBackendChange(baseUrl, backend.identity, readIdentityHeaders(response))
          if (problem !== null) throw new TransportError(problem.message, true, problem)
          backend.trustedUntil = this.#now() + IDENTITY_TTL_MS
          return response
        } catch (error) {
          backend.trustedUntil = Number.NEGATIVE_INFINITY
          throw error
        }
      },
      close: () => transport.close(),
    }
  }

  /** Throws before anything is sent if a request would reach another backend. */
  async #check(transport: Transport, baseUrl: string, expected: BackendIdentity, signal?: AbortSignal): Promise<void> {
    const url = healthUrl(baseUrl)
    let problem: GdnError | null
    try {
      const response = await this.#requestHealth(transport, url, signal)
      problem = findBackendChange(baseUrl, expected, parseIdentity(url, response))
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason
      throw new TransportError(error instanceof Error ? error.message : String(error), false, error)
    }
    if (problem !== null) throw new TransportError(problem.message, false, problem)
  }

  /**
   * Requests /healthz. Throws for temporary failures, because a response with a temporary failure doesn't show which
   * backend sent it, or whether the backend has an ID.
   */
  async #requestHealth(transport: Transport, url: string, signal: AbortSignal | undefined): Promise<TransportResponse> {
    const headers = { 'user-agent': this.#userAgent, accept: 'application/json' }
    const limits = { timeoutMs: HEALTH_TIMEOUT_MS, maxBytes: MAX_HEALTH_BYTES }
    const request: TransportRequest = { method: 'GET', url, headers, ...limits }
    const response = await transport.request(signal === undefined ? request : { ...request, signal })
    if (!isTemporaryStatus(response.status)) return response
    throw new TransportError(`it returned ${describeResponse(response)}`, true)
  }
}

const healthUrl = (baseUrl: string) => `${baseUrl}/healthz`

/** Reads the identity in a response of /healthz. A server that isn't a gdn backend may return anything. */
function parseIdentity(url: string, response: TransportResponse): BackendIdentity {
  const json = parseJson(response.body)
  if (json === null || typeof json !== 'object' || !('backend_id' in json)) return NO_IDENTITY
  const { backend_id: id, incarnation } = json as { backend_id: unknown; incarnation?: unknown }
  if (!isUuid(id) || !isUuid(incarnation)) throw badResponseError(url, response, 'a backend ID that is not a UUID')
  return { id, incarnation }
}

/**
 * Returns the identity in the headers of a response. Returns null if there is none, for example because a proxy sent
 * the response.
 */
function readIdentityHeaders({ headers }: TransportResponse): BackendIdentity | null {
  const [id, incarnation] = [headers[HEADERS.backendId], headers[HEADERS.incarnation]]
  return isUuid(id) && isUuid(incarnation) ? { id, incarnation } : null
}

const isUuid = (value: unknown): value is string => typeof value === 'string' && UUID.test(value)

/**
 * Returns an error if the backend has changed since this process began. Returns null if it hasn't, or if `actual` is
 * null.
 */
function findBackendChange(url: string, expected: BackendIdentity, actual: BackendIdentity | null): GdnError | null {
  if (actual === null || (actual.id === expected.id && actual.incarnation === expected.incarnation)) return null
  if (actual.id === expected.id) {
    return new GdnError('backend_restored', `the backend at ${url} was restored from a backup in the meantime`, {
      hint: 'Run the same command again. The command first checks which requests the backend still has.',
      details: { url, expected: expected.incarnation, found: actual.incarnation },
    })
  }
  return new GdnError(
    'wrong_backend',
    `another backend listens at ${url} now: ${backendName(actual)}, not ${expected.id}`,
    {
      hint: 'Start the backend that the command began with, then run the same command again.',
      details: { url, expected: expected.id, found: actual.id },
    },
  )
}

const backendName = ({ id }: BackendIdentity) => id ?? 'a server without an ID'
