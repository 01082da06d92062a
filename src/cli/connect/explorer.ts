import * as z from 'zod'
import { HEADERS } from '../../api/headers.ts'
import { parseJson } from '../../client/answers.ts'
import { parseBaseUrl } from '../../client/base-url.ts'
import { createTransport } from '../../client/create-transport.ts'
import { unreachable } from '../../client/network-error.ts'
import { type TransportAnswer, TransportError } from '../../client/transport.ts'
import type { Server } from '../../config/server.ts'
import { GdnError } from '../../core/errors.ts'
import type { Secret } from '../../core/secret.ts'
import type { Deps } from '../deps.ts'
import { VERSION } from '../version.ts'
import { proxyOf } from './connect.ts'
import { debugExchanges } from './debug-exchange.ts'

const TIMEOUT_MS = 10_000

/** What stands between us and the backend may give cookies of its own. */
const SESSION_COOKIE = /\bgdn_session_[0-9a-f]{8}=[\w.-]+/

const session = z.object({ version: z.string(), open: z.boolean() })

/** The web explorer of a gdn backend: what it shows in a browser, and the data behind it. */
export interface Explorer {
  /** Whether it shows us what it has: all to whoever asks from here, or what the key may see. */
  readonly open: boolean
  /** The JSON that it has under a path, or null where it has none or won't give it to us. */
  get(path: `/explorer/${string}`): Promise<unknown>
  close(): Promise<void>
}

/**
 * Asks a server whether it has a web explorer. No key goes along: none is needed for that. Where it is behind a login, the
 * key that is given opens it for us.
 *
 * @throws GdnError `unreachable`, or `not_found` with what to do where the server is no backend of ours
 */
export async function connectExplorer(
  { env, io, signals }: Deps,
  server: Server,
  apiKey: () => Promise<Secret | null> = async () => null,
): Promise<Explorer> {
  const proxy = server.loopback ? undefined : proxyOf(env)
  const transport = await createTransport('single', { proxy, onExchange: debugExchanges(io) })
  let cookie: string | null = null
  const ask = async (path: string, body?: unknown): Promise<TransportAnswer> => {
    const url = `${explorerBase(server)}${path}`
    const headers = {
      accept: 'application/json',
      'user-agent': `gdn/${VERSION}`,
      ...(cookie === null ? {} : { cookie }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    }
    const content = body === undefined ? {} : { body: new TextEncoder().encode(JSON.stringify(body)) }
    const method = body === undefined ? 'GET' : 'POST'
    try {
      return await transport.request({
        ...{ method, url, headers, ...content, timeoutMs: TIMEOUT_MS, signal: signals.signal },
      })
    } catch (error) {
      signals.signal.throwIfAborted()
      throw error instanceof TransportError ? unreachable(url, error) : error
    }
  }
  /** A session as a browser has one; it ends with the key, or by itself. */
  const logIn = async (): Promise<boolean> => {
    const key = await apiKey()
    if (key === null) return false
    parseBaseUrl(server.baseUrl, { hasKey: true, allowHttp: false })
    const { status, headers } = await ask('/explorer/login', { api_key: key.reveal() })
    cookie = status === 200 ? (SESSION_COOKIE.exec(headers['set-cookie'] ?? '')?.[0] ?? null) : null
    return cookie !== null
  }
  try {
    const found = await ask('/explorer/session')
    const parsed = session.safeParse(found.status === 200 ? parseJson(found.body) : null)
    if (!parsed.success) throw noExplorer(server, found)
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

/** Where the pages begin: the address of the server, and nothing that stood behind it. */
export function explorerBase({ baseUrl }: Pick<Server, 'baseUrl'>): string {
  const { origin, pathname } = new URL(baseUrl)
  return `${origin}${pathname.replace(/\/+$/, '')}`
}

function noExplorer({ origin, source }: Server, { status, headers }: TransportAnswer): GdnError {
  if (status >= 500) {
    return new GdnError('unreachable', `${origin} answers HTTP ${status}`, { hint: 'try again in a moment' })
  }
  if (headers[HEADERS.idempotencySupported] !== undefined) {
    return new GdnError('not_found', `the backend at ${origin} has no web explorer yet: it is an older one`, {
      hint: source === 'local' ? 'gdn local stop, then gdn local start, starts this one' : 'update it',
    })
  }
  return new GdnError('not_found', `${origin} is no backend of gdn's, and has no web explorer`, {
    hint: 'the web explorer belongs to a backend of your own: gdn open --local, or --base-url <its address>',
  })
}
