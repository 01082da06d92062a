import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ERROR_TITLES } from '../../api/errors.ts'
import { HEADERS } from '../../api/headers.ts'
import type { ApiVersion } from '../../api/versions.ts'
import { authenticate, type Caller } from '../services/authenticate.ts'
import { Refusal } from '../services/refusals.ts'
import type { ServiceDeps } from '../services/services.ts'
import { localAccountId } from '../store/accounts.ts'
import { isLoopbackAddress } from './hosts.ts'

export interface AuthenticationOptions {
  /** Whether the local account's key is also accepted from other machines. */
  allowLocalKey: boolean
  /** Returns whether an address belongs to a trusted proxy. */
  isTrusted: (address: string) => boolean
  /** API version for keys that specify none. */
  apiVersion: ApiVersion
}

/** Returns whether a request comes from this machine and isn't forwarded by a proxy for another machine. */
export function isLocalRequest(
  { ip, raw, headers }: Pick<FastifyRequest, 'ip' | 'raw' | 'headers'>,
  isTrusted: AuthenticationOptions['isTrusted'],
): boolean {
  const peer = raw.socket.remoteAddress ?? ''
  // A proxy that doesn't forward the client's address may forward requests of any client.
  if (isTrusted(peer) && headers['x-forwarded-for'] === undefined) return false
  return isLoopbackAddress(ip)
}

/** Throws a Refusal if the key of the local account is used from another machine. */
export type RefuseRemoteLocalKey = (request: FastifyRequest, caller: Caller) => Promise<void>

/**
 * Adds authentication to every route, before the body is read. A route without declared access can't be registered. The
 * local account's key is accepted only from this machine by default: the key has all permissions, and is stored in a
 * file that tools read.
 */
export function addAuthentication(
  app: FastifyInstance,
  { store, now }: Pick<ServiceDeps, 'store' | 'now'>,
  { allowLocalKey, isTrusted, apiVersion }: AuthenticationOptions,
): RefuseRemoteLocalKey {
  let local: Promise<string | null> | undefined
  const isLocalAccount = async ({ accountId }: Caller) => {
    local ??= localAccountId(store.db).catch((error) => {
      local = undefined
      throw error
    })
    return accountId === (await local)
  }
  const refuseRemoteLocalKey: RefuseRemoteLocalKey = async (request, caller) => {
    if (allowLocalKey || isLocalRequest(request, isTrusted) || !(await isLocalAccount(caller))) return
    throw new Refusal(403, ERROR_TITLES.forbidden, LOCAL_KEY_REJECTED)
  }
  app.decorateRequest('caller', null)
  app.decorateRequest('apiVersion', apiVersion)
  app.addHook('onRoute', (route) => {
    if (route.config?.access === undefined) throw new Error(`the route ${route.url} declares no access`)
  })
  app.addHook('onRequest', async (request) => {
    // `access` is undefined only if no route matches. The response is then a 404.
    const { access, needs = 'all' } = request.routeOptions.config
    if (access === undefined || access === 'public' || access === 'explorer' || request.method === 'OPTIONS') return
    const header = request.headers[HEADERS.apiKey]
    const caller = await authenticate(
      store.db,
      header === undefined ? undefined : String(header),
      { access, needs },
      now(),
    )
    await refuseRemoteLocalKey(request, caller)
    request.caller = caller
    request.apiVersion = caller.apiVersion ?? apiVersion
  })
  return refuseRemoteLocalKey
}

const LOCAL_KEY_REJECTED =
  "the local account's key is accepted only from the server's own machine: create another with `gdn key create`, or see --allow-local-key"

/** Returns the caller of a request to a route that requires an API key. */
export function requireCaller(request: FastifyRequest): Caller {
  if (request.caller === null) throw new Error(`the route ${request.routeOptions.url} is public`)
  return request.caller
}
