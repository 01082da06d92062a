import { Readable } from 'node:stream'
import { Agent, type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici'
import { messageOf, systemCode } from '../core/errors.ts'
import { Attempt, joinHeaders } from './attempt.ts'
import { KEEP_ALIVE_MS, type Transport, type TransportRequest } from './transport.ts'

/**
 * Proxies by target scheme, and hosts without a proxy. The values have the formats of the environment variables. Use an
 * empty string for no proxy, because undici reads the environment if an option is missing.
 */
export interface ProxyOptions {
  httpProxy: string
  httpsProxy: string
  noProxy: string
}

/**
 * Changes a pool of proxy connections so that a request fails if the proxy closes the connection instead of responding.
 * Otherwise, undici treats the connection as closed while idle, and reconnects thousands of times per second (observed
 * with undici 7.30).
 */
function closeWithProxy(pool: Pool): Pool {
  const connect = pool.connect.bind(pool) as (options: object) => Promise<unknown>
  pool.connect = (async (options: object) => {
    try {
      return await connect(options)
    } catch (error) {
      if (systemCode(error) !== 'UND_ERR_SOCKET') throw error
      throw new Error(`the proxy closed the connection: ${messageOf(error)}`, { cause: error })
    }
  }) as Pool['connect']
  return pool
}

/** Creates the transport for batches and for proxies. Uses undici with a connection pool for each origin. */
export function createPoolTransport(options: { proxy?: ProxyOptions | undefined } = {}): Transport {
  // `Attempt` handles the timeout and the size limit. undici's own timeouts would end requests at different times.
  const settings = {
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: 0 },
    pipelining: 1,
  }
  const { proxy } = options
  const dispatcher =
    proxy === undefined
      ? new Agent(settings)
      : new EnvHttpProxyAgent({
          ...settings,
          ...proxy,
          clientFactory: (origin, options) => closeWithProxy(new Pool(origin, options)),
        })

  return {
    async request(request) {
      request.signal?.throwIfAborted()
      const attempt = new Attempt(request)
      try {
        dispatcher.dispatch(dispatchOptions(request), handler(attempt))
      } catch (error) {
        attempt.fail(messageOf(error), error)
      }
      return await attempt.response
    },
    onDisconnect(listener) {
      dispatcher.on('disconnect', listener)
    },
    async close() {
      await dispatcher.destroy()
    },
  }
}

function dispatchOptions({ url, method, headers, body, stream }: TransportRequest): Dispatcher.DispatchOptions {
  const { origin, pathname, search } = new URL(url)
  const size = body?.length ?? stream?.size
  return {
    origin,
    path: pathname + search,
    method,
    headers: size === undefined ? headers : { ...headers, 'content-length': String(size) },
    body: stream === undefined ? (body ?? null) : Readable.from(stream.open(), { objectMode: false }),
  }
}

function handler(attempt: Attempt): Dispatcher.DispatchHandler {
  let status = 0
  let headers: Record<string, string> = {}
  return {
    // Called when the connection is open, just before the request is written.
    onRequestStart(controller) {
      attempt.cancel = (reason) => controller.abort(reason)
      if (!attempt.markSending()) controller.abort(new Error('the attempt is over'))
    },
    onResponseStart(_controller, statusCode, rawHeaders) {
      if (statusCode < 200) return
      status = statusCode
      headers = joinHeaders(rawHeaders)
    },
    onResponseData(_controller, chunk) {
      attempt.addChunk(chunk)
    },
    onResponseEnd() {
      attempt.finish(status, headers)
    },
    onResponseError(_controller, error) {
      attempt.fail(status === 0 ? messageOf(error) : `the response was cut off: ${messageOf(error)}`, error)
    },
  }
}
