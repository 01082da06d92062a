import { Agent, request } from 'undici'
import { GdnError, messageOf, systemCode } from '../../../../core/errors.ts'
import { excerpt, textOrJson } from '../../../../core/excerpt.ts'
import { asObject, parseJson } from '../../../../core/json.ts'
import type { Secret } from '../../../../core/secret.ts'

/**
 * Maximum size of a response. It is far above the size of any transaction, because some signers return a transaction's
 * fields in addition to its bytes.
 */
const MAX_RESPONSE_BYTES = 2 * 1024 * 1024
const TOKEN_REFUSED: ReadonlySet<number> = new Set([401, 403])

export interface SignerRpcOptions {
  url: string
  /** Reads the token before each request, because tokens can be replaced while the backend runs. */
  token: (() => Secret) | null
  tls: { cert?: string | undefined; key?: string | undefined; ca?: string | undefined }
  timeoutMs: number
}

/**
 * JSON-RPC connection to the signer that has a key. Errors name the signer's host, but never the URL's path or the
 * token.
 */
export interface SignerRpc {
  readonly host: string
  /**
   * Calls a method of the signer.
   *
   * @throws GdnError `unreachable`, `unauthorized`, `bad_answer`, or `refused` with the signer's own error, whose
   *   JSON-RPC code is in `details`
   */
  call(method: string, params: readonly unknown[]): Promise<unknown>
  close(): Promise<void>
}

/** Connects to a signer. Ignores the proxy variables of the environment, and follows no redirects. */
export function connectSigner({ url, token, tls, timeoutMs }: SignerRpcOptions): SignerRpc {
  const { host } = new URL(url)
  const agent = new Agent({
    connections: 8,
    maxResponseSize: MAX_RESPONSE_BYTES,
    // Verify certificates regardless of NODE_TLS_REJECT_UNAUTHORIZED.
    connect: { ...tls, timeout: timeoutMs, rejectUnauthorized: true },
  })
  let nextId = 0

  const post = async (body: string): Promise<{ status: number; text: string }> => {
    const authorization = token === null ? {} : { authorization: `Bearer ${token().reveal()}` }
    const abortController = new AbortController()
    const timer = setTimeout(() => abortController.abort(), timeoutMs)
    try {
      const response = await request(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json', ...authorization },
        body,
        dispatcher: agent,
        signal: abortController.signal,
      })
      return { status: response.statusCode, text: await response.body.text() }
    } catch (cause) {
      throw new GdnError(
        'unreachable',
        `the signer at ${host} ${describeSignerFailure(cause, abortController.signal, timeoutMs)}`,
        { cause },
      )
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    host,

    async call(method, params) {
      nextId += 1
      const { status, text } = await post(JSON.stringify({ jsonrpc: '2.0', id: nextId, method, params }))
      if (TOKEN_REFUSED.has(status)) {
        throw new GdnError('unauthorized', `the signer at ${host} rejected the credentials (HTTP ${status})`, {
          hint: 'Check token_file, client_cert_file and client_key_file of this operator.',
        })
      }
      if (status >= 300 && status < 400) {
        throw new GdnError(
          'bad_answer',
          `the signer at ${host} redirected the request, but gdn does not follow redirects (HTTP ${status})`,
          {
            hint: 'Set remote_signer to the final URL.',
          },
        )
      }
      const response = asObject(parseJson(text))
      const error = asObject(response?.error)
      if (error !== null) {
        const why = excerpt(textOrJson(error.message ?? 'it returned no reason'))
        throw new GdnError('refused', `the signer at ${host} refused ${method}: ${why}`, {
          details: { code: error.code },
        })
      }
      // Some servers return JSON-RPC errors with an HTTP error status, but never results.
      if (status >= 400) throw new GdnError('unreachable', `the signer at ${host} returned HTTP ${status}`)
      if (response === null || response.result === undefined) {
        throw new GdnError('bad_answer', `the signer at ${host} did not return a JSON-RPC response`)
      }
      return response.result
    },

    close: () => agent.destroy(),
  }
}

function describeSignerFailure(cause: unknown, { aborted }: AbortSignal, timeoutMs: number): string {
  if (aborted) return `did not respond within ${timeoutMs} ms`
  if (systemCode(cause) === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return `returned more than ${MAX_RESPONSE_BYTES} bytes`
  return `does not respond (${excerpt(messageOf(cause))})`
}
