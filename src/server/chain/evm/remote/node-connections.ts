import { Agent, request } from 'undici'
import { GdnError, messageOf } from '../../../../core/errors.ts'
import { parseRetryAfter } from '../../../../core/time.ts'
import { NodeFailedError } from './responses.ts'

const MAX_RESPONSE_BYTES = 64 * 1024 * 1024
const TOO_MANY_REQUESTS = 429
const TOO_LARGE = 413

/** HTTP connections to the nodes of a network. */
export interface NodeConnections {
  /**
   * Posts JSON to a node. Resolves with the parsed response; null if the request is too large for the node.
   *
   * @throws NodeFailed without a valid response
   */
  send(url: string, body: unknown): Promise<unknown>
  close(): Promise<void>
}

interface NodeConnectionsOptions {
  /** Timeout of one response in milliseconds. */
  timeoutMs: number
  /** Called with the origin of a connection that was closed. */
  onDisconnect: (origin: string) => void
}

export function openNodeConnections({ timeoutMs, onDisconnect }: NodeConnectionsOptions): NodeConnections {
  const agent = new Agent({ connections: 16, maxResponseSize: MAX_RESPONSE_BYTES, connectTimeout: timeoutMs })
  const inFlight = new Set<AbortController>()
  agent.on('disconnect', (origin) => onDisconnect(new URL(origin).origin))

  const send = async (url: string, body: unknown): Promise<unknown> => {
    // A URL can contain a provider's key, so messages quote only the host.
    const { host } = new URL(url)
    // Don't use AbortSignal.timeout. On Node.js 20, a signal that `AbortSignal.any` derives from it may never fire
    // after a garbage collection.
    const abortController = new AbortController()
    let isTimedOut = false
    const timer = setTimeout(() => {
      isTimedOut = true
      abortController.abort()
    }, timeoutMs)
    inFlight.add(abortController)
    let text: string
    let refused: number | null = null
    try {
      const response = await request(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify(body),
        dispatcher: agent,
        signal: abortController.signal,
      })
      text = await response.body.text()
      const { statusCode, headers } = response
      if (statusCode === TOO_LARGE) return null
      if (statusCode >= 300) refused = statusCode
      if (statusCode === TOO_MANY_REQUESTS || statusCode >= 500) {
        const restMs = parseRetryAfter([headers['retry-after']].flat()[0], Date.now())
        const limited = statusCode === TOO_MANY_REQUESTS || restMs !== null
        throw new NodeFailedError(`the node at ${host} returned HTTP ${statusCode}`, { limited, restMs })
      }
    } catch (cause) {
      if (cause instanceof GdnError) throw cause
      const why = isTimedOut ? `did not respond within ${timeoutMs} ms` : `does not respond (${messageOf(cause)})`
      throw new NodeFailedError(`the node at ${host} ${why}`, { cause })
    } finally {
      clearTimeout(timer)
      inFlight.delete(abortController)
    }
    try {
      return JSON.parse(text)
    } catch (cause) {
      const description = refused === null ? 'a response that is not JSON' : `HTTP ${refused}`
      throw new NodeFailedError(`the node at ${host} returned ${description}`, { cause })
    }
  }

  return {
    send,
    async close() {
      for (const abortController of inFlight) abortController.abort()
      await agent.destroy()
    },
  }
}
