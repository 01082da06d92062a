import { HEADERS } from '../api/headers.ts'
import { GdnError } from '../core/errors.ts'
import { badAnswer, describeAnswer, PASSING, parseJson } from './answers.ts'
import type { Backend } from './backend.ts'
import { persist } from './persist.ts'
import { SYSTEM_CLOCK } from './retry.ts'
import { type Transport, type TransportAnswer, TransportError, type TransportRequest } from './transport.ts'

type Identity = Pick<Backend, 'id' | 'incarnation'>

const TIMEOUT_MS = 10_000
/** Any path of a hosted service may lead to a web page. */
const MAX_BYTES = 1024 * 1024
/** After this time without a response, another backend may have taken the address. */
const TRUST_MS = 10_000

const NONE: Identity = { id: null, incarnation: null }
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

interface Known {
  identity: Identity
  trustedUntil: number
}

/**
 * The identities of the servers that this process has asked. Requests to a server with a known ID go to that backend
 * only: the ID is read again, without the key, after a failed request and after a pause.
 */
export class KnownBackends {
  readonly #userAgent: string
  readonly #now: () => number
  readonly #known = new Map<string, Known>()
  /** Base URLs that nothing is sent to, and why. */
  readonly #closed = new Map<string, GdnError>()

  constructor(userAgent: string, now: () => number = () => performance.now()) {
    this.#userAgent = userAgent
    this.#now = now
  }

  /**
   * Returns who answers at a base URL, as first read by this process.
   *
   * @param how `patiently` tries again after a passing failure, for up to 30 s
   * @throws GdnError `unreachable`; `bad_answer` for an ID that is no UUID
   */
  async identify(
    transport: Transport,
    baseUrl: string,
    { how, signal }: { how: 'once' | 'patiently'; signal: AbortSignal },
  ): Promise<Identity> {
    const known = this.#known.get(baseUrl)
    if (known !== undefined) return known.identity
    const url = healthUrl(baseUrl)
    const once = () => this.#ask(transport, url, signal)
    const answer = await persist(url, SYSTEM_CLOCK, signal, once, how === 'once' ? 1 : undefined)
    const identity = identityIn(url, answer)
    this.#closed.delete(baseUrl)
    this.#known.set(baseUrl, { identity, trustedUntil: this.#now() + TRUST_MS })
    return identity
  }

  /** Sends nothing more to a base URL: it could not be asked who answers there. */
  close(baseUrl: string, reason: GdnError): void {
    this.#closed.set(baseUrl, reason)
  }

  /**
   * Returns a transport to a base URL whose requests reach the backend that was identified there, or none.
   *
   * @param isLocal whether the server runs on this machine: another backend can take its port within a second, so that
   *   the ID is read again for each new connection
   */
  guard(transport: Transport, baseUrl: string, { isLocal = false } = {}): Transport {
    // Shared by requests that are sent at once. Null: the next request has to check.
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
        const known = this.#known.get(baseUrl)
        if (known === undefined || known.identity.id === null) {
          return await transport.request(request)
        }
        if (checked === null || this.#now() > known.trustedUntil) {
          const check = this.#check(transport, baseUrl, known.identity, request.signal)
          checked = check
          check.catch(() => {
            if (checked === check) checked = isLocal ? null : Promise.resolve()
          })
        }
        await checked
        try {
          const answer = await transport.request(request)
          const problem = changeOf(baseUrl, known.identity, identityOf(answer))
          if (problem !== null) throw new TransportError(problem.message, true, problem)
          known.trustedUntil = this.#now() + TRUST_MS
          return answer
        } catch (error) {
          known.trustedUntil = Number.NEGATIVE_INFINITY
          throw error
        }
      },
      close: () => transport.close(),
    }
  }

  /** Keeps a request back that would reach another backend: not one byte of it leaves. */
  async #check(transport: Transport, baseUrl: string, expected: Identity, signal?: AbortSignal): Promise<void> {
    const url = healthUrl(baseUrl)
    let problem: GdnError | null
    try {
      const answer = await this.#ask(transport, url, signal)
      problem = changeOf(baseUrl, expected, identityIn(url, answer))
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason
      throw new TransportError(error instanceof Error ? error.message : String(error), false, error)
    }
    if (problem !== null) throw new TransportError(problem.message, false, problem)
  }

  /** An error of a server or balancer does not say who answers there, nor that the server has no ID. */
  async #ask(transport: Transport, url: string, signal: AbortSignal | undefined): Promise<TransportAnswer> {
    const headers = { 'user-agent': this.#userAgent, accept: 'application/json' }
    const limits = { timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES }
    const request: TransportRequest = { method: 'GET', url, headers, ...limits }
    const answer = await transport.request(signal === undefined ? request : { ...request, signal })
    if (answer.status < 500 && !PASSING.has(answer.status)) return answer
    throw new TransportError(`it returned ${describeAnswer(answer)}`, true)
  }
}

const healthUrl = (baseUrl: string) => `${baseUrl}/healthz`

/** Who answered /healthz. A server that isn't ours answers anything. */
function identityIn(url: string, answer: TransportAnswer): Identity {
  const json = parseJson(answer.body)
  if (json === null || typeof json !== 'object' || !('backend_id' in json)) return NONE
  const { backend_id: id, incarnation } = json as { backend_id: unknown; incarnation?: unknown }
  if (!isUuid(id) || !isUuid(incarnation)) throw badAnswer(url, answer, 'a backend ID that is no UUID')
  return { id, incarnation }
}

/** Who a response says it is of. A proxy may answer in the place of a backend, and says nothing. */
function identityOf({ headers }: TransportAnswer): Identity | null {
  const [id, incarnation] = [headers[HEADERS.backendId], headers[HEADERS.incarnation]]
  return isUuid(id) && isUuid(incarnation) ? { id, incarnation } : null
}

const isUuid = (value: unknown): value is string => typeof value === 'string' && UUID.test(value)

/** What is wrong where a backend is no longer the one that this process began with. */
function changeOf(url: string, expected: Identity, found: Identity | null): GdnError | null {
  if (found === null || (found.id === expected.id && found.incarnation === expected.incarnation)) return null
  if (found.id === expected.id) {
    return new GdnError('backend_restored', `the backend at ${url} was restored from a backup in the meantime`, {
      hint: 'Run the same command again: it first checks what the backend still knows.',
      details: { url, expected: expected.incarnation, found: found.incarnation },
    })
  }
  return new GdnError('wrong_backend', `another backend answers at ${url} now: ${nameOf(found)}, not ${expected.id}`, {
    hint: 'Start the backend that the command began with, then run the same command again.',
    details: { url, expected: expected.id, found: found.id },
  })
}

const nameOf = ({ id }: Identity) => id ?? 'a server without an ID'
