import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ERROR_TITLES } from '../../api/errors.ts'
import { HEADERS } from '../../api/headers.ts'
import type { Viewer } from '../explorer/explorer.ts'
import { authenticateKey, endSession, resumeSession, SESSION_LIFETIME_MS, signSession } from '../explorer/session.ts'
import type { ExplorerSession } from '../explorer/types.ts'
import { Refusal } from '../services/refusals.ts'
import type { ServiceDeps } from '../services/services.ts'
import { accountEmail } from '../store/accounts.ts'
import type { BackendIdentity } from '../store/identity.ts'
import { isLocalRequest, type RefuseRemoteLocalKey } from './auth.ts'
import { clientNetwork } from './connections.ts'
import { isForeignPage, isLoopbackHost } from './hosts.ts'

export interface AccessOptions {
  /** The address that the server listens on. */
  host: string
  allowedHosts: readonly string[]
  isTrusted: (address: string) => boolean
  refuseRemoteLocalKey: RefuseRemoteLocalKey
  version: string
  identity: BackendIdentity
}

/**
 * Maximum number of login attempts per second and client. Keys can't be guessed, but attempts must not overload the
 * database.
 */
const LOGINS_PER_SECOND = 5
/** Maximum size of a login request in bytes. The request contains only a key. */
const LOGIN_BODY_LIMIT = 1024

export interface ExplorerAccess {
  /**
   * Returns the current viewer; null if access has ended. Call this function repeatedly during a streamed response,
   * because the session may end before the stream.
   */
  findViewer(request: FastifyRequest): Promise<Viewer | null>
}

/**
 * Adds access to the web explorer. On loopback, clients on this machine need no login. Other clients open a session
 * with an API key. The session is an HttpOnly, SameSite cookie.
 */
export function addExplorerAccess(
  app: FastifyInstance,
  { store: { db }, now, signedUrls }: Pick<ServiceDeps, 'store' | 'now' | 'signedUrls'>,
  { host, allowedHosts, isTrusted, refuseRemoteLocalKey, version, identity }: AccessOptions,
): ExplorerAccess {
  const isLoopbackServer = isLoopbackHost(host.toLowerCase())
  const isOpen = (request: FastifyRequest) => isLoopbackServer && isLocalRequest(request, isTrusted)
  const countLogin = createLoginLimit()
  const signer = { secret: signedUrls.secret, incarnation: identity.incarnation }
  // Browsers send a cookie to every port of a host, so backends on one host need distinct cookie names.
  const cookie = `gdn_session_${identity.id.slice(0, 8)}`

  const callerOf = async (request: FastifyRequest) => {
    const session = readCookie(request, cookie)
    const caller = session === null ? null : await resumeSession(db, signer, session, now())
    if (caller === null) return null
    // Also reject the cookie of a session whose key isn't accepted from the client's machine.
    return await refuseRemoteLocalKey(request, caller).then(
      () => caller,
      () => null,
    )
  }

  const findViewer = async (request: FastifyRequest): Promise<Viewer | null> => {
    if (isOpen(request)) return { accountId: null }
    const caller = await callerOf(request)
    return caller === null ? null : { accountId: caller.accountId }
  }

  const sessionOf = async (accountId: string | null, open: boolean): Promise<ExplorerSession> => ({
    version,
    open,
    account: accountId === null ? null : { email: await accountEmail(db, accountId) },
  })

  app.decorateRequest('viewer', null)
  app.addHook('onRequest', async (request) => {
    if (request.routeOptions.config.access !== 'explorer') return
    refuseForeign(request)
    request.viewer = await findViewer(request)
    if (request.viewer === null) {
      throw new Refusal(
        401,
        ERROR_TITLES.unauthorized,
        'log in with POST /explorer/login and an API key that can read NFTs',
      )
    }
  })

  const refuseForeign = (request: FastifyRequest) => {
    const { origin, 'sec-fetch-site': site } = request.headers
    // A page of another site can embed a response, for example as an image. Although it can't read the response, it
    // would put load on the backend. Such requests have no Origin.
    if (isForeignPage(request, allowedHosts) || (origin === undefined && site === 'cross-site')) {
      throw new Refusal(403, ERROR_TITLES.forbidden, 'pages from other origins may not use the web explorer')
    }
  }

  const config = { access: 'public', errorForm: 'A' } as const
  app.get('/explorer/session', { config }, async (request) => {
    const open = isOpen(request)
    const caller = open ? null : await callerOf(request)
    return await sessionOf(caller?.accountId ?? null, open)
  })
  // Run before the body is read, so that a client without access can't fill the memory.
  const onRequest = async (request: FastifyRequest) => {
    refuseForeign(request)
    await countLogin(clientNetwork(request.ip))
  }
  app.post('/explorer/login', { config, bodyLimit: LOGIN_BODY_LIMIT, onRequest }, async (request, reply) => {
    const { api_key: key } = (request.body ?? {}) as { api_key?: unknown }
    if (typeof key !== 'string') throw new Refusal(400, ERROR_TITLES.validation, 'api_key must be a string')
    const caller = await authenticateKey(db, key.trim(), now())
    await refuseRemoteLocalKey(request, caller)
    const session = signSession(signer, { keyId: caller.keyId, now: now() })
    setCookie(request, reply, cookie, session, SESSION_LIFETIME_MS / 1000)
    return await sessionOf(caller.accountId, isOpen(request))
  })
  app.post('/explorer/logout', { config, bodyLimit: LOGIN_BODY_LIMIT }, async (request, reply) => {
    refuseForeign(request)
    const session = readCookie(request, cookie)
    if (session !== null) await endSession(db, signer, session, now())
    setCookie(request, reply, cookie, '', 0)
    return await sessionOf(null, isOpen(request))
  })
  return { findViewer }
}

/** Returns the viewer of a request to a route with the access `explorer`. */
export function requireViewer(request: FastifyRequest): Viewer {
  if (request.viewer === null) throw new Error(`the route ${request.routeOptions.url} is not the explorer's`)
  return request.viewer
}

function readCookie({ headers: { cookie = '' } }: FastifyRequest, name: string): string | null {
  for (const part of cookie.split(';')) {
    const at = part.indexOf('=')
    if (at > 0 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim()
  }
  return null
}

function setCookie(
  { protocol }: FastifyRequest,
  reply: FastifyReply,
  name: string,
  value: string,
  seconds: number,
): void {
  const secure = protocol === 'https' ? '; Secure' : ''
  reply.header('set-cookie', `${name}=${value}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${seconds}${secure}`)
}

/**
 * Limits login attempts per client in this process. Each process of a cluster has a separate limit, but even all of
 * their attempts together are far too few to guess a key.
 */
function createLoginLimit(): (client: string) => Promise<void> {
  const load = async () => (await import('./memory-limiter.ts')).createMemoryLimiter(LOGINS_PER_SECOND)
  let limiter: ReturnType<typeof load> | undefined
  return async (client) => {
    limiter ??= load()
    const { allowed, msBeforeNext } = await (await limiter)(client)
    if (allowed) return
    const wait = Math.max(1, Math.ceil(msBeforeNext / 1000))
    throw new Refusal(429, ERROR_TITLES.tooManyRequests, `too many logins; wait ${wait} s`, {
      [HEADERS.retryAfter]: String(wait),
    })
  }
}
