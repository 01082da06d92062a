import * as z from 'zod'
import { parseBaseUrl } from '../../client/base-url.ts'
import { createTransport } from '../../client/create-transport.ts'
import { unreachableError } from '../../client/network-error.ts'
import { TransportError, type TransportResponse } from '../../client/transport.ts'
import { readProxies } from '../../config/proxy.ts'
import type { Server } from '../../config/server.ts'
import { GdnError } from '../../core/errors.ts'
import { parseJson } from '../../core/json.ts'
import { trimSlashes } from '../../core/parse-url.ts'
import type { Secret } from '../../core/secret.ts'
import type { Deps } from '../deps.ts'
import { VERSION } from '../version.ts'
import { debugExchanges } from './debug-exchange.ts'

const TIMEOUT_MS = 10_000

/** Matches the session cookie. Proxies in front of the backend may set other cookies. */
const SESSION_COOKIE = /\bgdn_session_[0-9a-f]{8}=[\w.-]+/

const sessionSchema = z.object({ version: z.string(), open: z.boolean() })

/** The web explorer of a gdn backend, and its data. */
export interface WebExplorer {
  /**
   * Whether the explorer returns data. On this machine, it returns all data, and elsewhere only the data that the key
   * permits.
   */
  readonly open: boolean
  /** Returns the JSON at a path; null if there is none or if access is denied. */
  get(path: `/explorer/${string}`): Promise<unknown>
  close(): Promise<void>
}

/**
 * Connects to the web explorer of a server. The first request is sent without a key. If the web explorer requires a
 * login, logs in with the given key.
 *
 * @throws GdnError `unreachable`, or `not_found` with a hint if the server has no web explorer
 */
export async function connectExplorer(
  { env, io, signals }: Deps,
  server: Server,
  apiKey: () => Promise<Secret | null> = async () => null,
): Promise<WebExplorer> {
  const proxy = server.isLoopback ? undefined : readProxies(env)
  const transport = await createTransport('single', { proxy, onExchange: debugExchanges(io) })
  let cookie: string | null = null
  const ask = async (path: string, body?: unknown): Promise<TransportResponse> => {
    const url = `${explorerBase(server)}${path}`
    const headers = {
      accept: 'application/json',
      'user-agent': `gdn/${VERSION}`,
      ...(cookie === null ? {} : { cookie }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    }
    const method = body === undefined ? 'GET' : 'POST'
    try {
      return await transport.request({
        method,
        url,
        headers,
        body: body === undefined ? undefined : new TextEncoder().encode(JSON.stringify(body)),
        timeoutMs: TIMEOUT_MS,
        signal: signals.signal,
      })
    } catch (error) {
      signals.signal.throwIfAborted()
      throw error instanceof TransportError ? unreachableError(url, error) : error
    }
  }
  /**
   * Starts a session in the same way as a browser. The session ends when it expires or when the key becomes invalid.
   */
  const logIn = async (): Promise<boolean> => {
    const key = await apiKey()
    if (key === null) return false
    parseBaseUrl(server.baseUrl, { hasKey: true, allowHttp: false })
    const { status, headers } = await ask('/explorer/login', { api_key: key.reveal() })
    cookie = status === 200 ? (SESSION_COOKIE.exec(headers['set-cookie'] ?? '')?.[0] ?? null) : null
    return cookie !== null
  }
  try {
    const response = await ask('/explorer/session')
    const parsed = sessionSchema.safeParse(response.status === 200 ? parseJson(response.body) : null)
    if (!parsed.success) throw noExplorerError(server, response)
    return {
      open: parsed.data.open || (await logIn()),
      async get(path) {
        const { status, body } = await ask(path)
        return status === 200 ? (parseJson(body) ?? null) : null
      },
      close: () => transport.close(),
    }
  } catch (error) {
    await transport.close()
    throw error
  }
}

/** Returns the base URL of the pages, without a trailing slash. */
export function explorerBase({ baseUrl }: Pick<Server, 'baseUrl'>): string {
  const { origin, pathname } = new URL(baseUrl)
  return `${origin}${trimSlashes(pathname)}`
}

function noExplorerError({ origin }: Server, { status }: TransportResponse): GdnError {
  if (status >= 500) {
    return new GdnError('unreachable', `${origin} responds with HTTP ${status}`, { hint: 'Try again in a moment.' })
  }
  return new GdnError('not_found', `${origin} has no web explorer`, {
    hint: 'Run `gdn open --local`, or use --base-url <url> with a gdn backend that serves the explorer.',
  })
}
