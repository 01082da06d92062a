import { Agent, EnvHttpProxyAgent, request } from 'undici'
import { backoffMs } from '../../../core/backoff.ts'
import { GdnError, messageOf, systemCode } from '../../../core/errors.ts'
import { excerpt } from '../../../core/excerpt.ts'
import { parseRecord } from '../../../core/json.ts'
import { sleep } from '../../../core/time.ts'
import type { DeployedContract } from './contracts.ts'

const MAX_RESPONSE_BYTES = 4 * 1024 * 1024
const TIMEOUT_MS = 30_000
const POLL_MS = 3_000
/** Number of consecutive failures after which a service counts as unreachable. */
const MAX_ATTEMPTS = 5
/**
 * Number of consecutive failed connections after which a service counts as unreachable. Further attempts seldom
 * succeed.
 */
const MAX_CONNECT_ATTEMPTS = 2
const CONNECTION_ERROR_CODES = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENETUNREACH', 'EHOSTUNREACH'])
const TOO_MANY_REQUESTS = 429

/**
 * The result of a verification. `verified` and `already_verified` are successes. `failed` means that the service
 * returned no result. `match` is `exact` if the metadata hash also matches, which proves that the sources are
 * identical.
 */
export interface VerificationResult {
  status: 'verified' | 'already_verified' | 'rejected' | 'failed'
  match: 'exact' | 'partial' | null
  /** URL of a page about the contract. */
  url: string | null
  /** The reason why the verification failed. */
  message: string | null
}

export interface VerifierOptions {
  /** URL of the service, without a trailing slash. */
  url: string
  chainId: number
  signal: AbortSignal
  /** Proxies by URL scheme, and hosts that need no proxy; an empty string for none. If absent, no proxy is used. */
  proxy?: { httpProxy: string; httpsProxy: string; noProxy: string } | undefined
  pollMs?: number | undefined
  /** Called with the reason before a request is retried. */
  onRetry?: ((why: string) => void) | undefined
}

/** A service that compiles sources and compares the result with the chain. */
export interface SourceVerifier {
  readonly service: 'sourcify' | 'etherscan'
  /** Submits a contract and waits for the result. A repeated call has no further effect. */
  verify(contract: DeployedContract): Promise<VerificationResult>
  close(): Promise<void>
}

/** Returns the result for a contract that differs from its sources or that can't be compared with them. */
export const rejectedResult = (message: string): VerificationResult => ({
  status: 'rejected',
  match: null,
  url: null,
  message: excerpt(message),
})

interface VerifierResponse {
  status: number
  json: Record<string, unknown>
}

interface VerifierRequest {
  method: 'GET' | 'POST'
  /** URL of the request. It may contain a key, so messages don't show it. */
  url: string
  contentType?: 'application/json' | 'application/x-www-form-urlencoded'
  body?: string
}

export interface VerifierHttp {
  /**
   * Sends a request, and retries it if there is no valid response. A repeated request has no further effect.
   *
   * @throws GdnError `unreachable`
   */
  send(request: VerifierRequest): Promise<VerifierResponse>
  /** Waits until the next poll. */
  wait(): Promise<void>
  close(): Promise<void>
}

/** Returns the reason for an error. If several addresses refused the connection, the error has no message. */
const connectionErrorText = (cause: unknown) => excerpt(messageOf(cause) || (systemCode(cause) ?? 'no connection'))

export function connectVerifier({ url, signal, proxy, pollMs = POLL_MS, onRetry }: VerifierOptions): VerifierHttp {
  const { host } = new URL(url)
  const limits = { maxResponseSize: MAX_RESPONSE_BYTES, bodyTimeout: TIMEOUT_MS, headersTimeout: TIMEOUT_MS }
  const agent = proxy === undefined ? new Agent(limits) : new EnvHttpProxyAgent({ ...limits, ...proxy })

  const once = async ({ method, url: target, contentType, body }: VerifierRequest): Promise<VerifierResponse> => {
    const headers = {
      accept: 'application/json',
      ...(contentType === undefined ? {} : { 'content-type': contentType }),
    }
    const response = await request(target, { method, headers, body: body ?? null, dispatcher: agent, signal })
    const text = await response.body.text()
    const status = response.statusCode
    if (status >= 500) throw new Error(`HTTP ${status}`)
    if (status >= 300 && status < 400) throw new Error(`HTTP ${status}, a redirect`)
    if (status === TOO_MANY_REQUESTS) return { status, json: {} }
    const json = parseRecord(text)
    if (json === null) throw new Error(`HTTP ${status} without a JSON object`)
    return { status, json }
  }

  return {
    async send(call) {
      for (let attempt = 1; ; attempt++) {
        try {
          const response = await once(call)
          if (response.status !== TOO_MANY_REQUESTS) return response
          // Don't count this as a failure. The status 429 can also mean that another submission of the contract is
          // being verified.
          attempt = 0
          await sleep(pollMs, signal)
        } catch (cause) {
          signal.throwIfAborted()
          const isRefused = CONNECTION_ERROR_CODES.has(systemCode(cause) ?? '')
          const why = `${host} ${isRefused ? 'cannot be reached' : 'does not respond as expected'}: ${connectionErrorText(cause)}`
          if (attempt >= (isRefused ? MAX_CONNECT_ATTEMPTS : MAX_ATTEMPTS))
            throw new GdnError('unreachable', why, { cause })
          onRetry?.(why)
          await sleep(backoffMs(attempt, { firstMs: pollMs / 3, maxMs: 10 * pollMs }), signal)
        }
      }
    },
    wait: () => sleep(pollMs, signal),
    close: () => agent.destroy(),
  }
}
