import type { FastifyInstance, FastifyRequest } from 'fastify'
import { TITLES } from '../../api/errors.ts'
import { HEADERS } from '../../api/headers.ts'
import { authenticate, type Caller } from '../services/authenticate.ts'
import { Refusal } from '../services/refusal.ts'
import type { ServiceDeps } from '../services/services.ts'
import { localAccountId } from '../store/accounts.ts'
import { isLoopbackAddress } from './hosts.ts'

export interface AuthenticationOptions {
  /** Whether the local account's key is taken from other machines too. */
  allowLocalKey: boolean
  /** Whether an address is that of a proxy, behind which others are. */
  isTrusted: (address: string) => boolean
}

/** Whether a request comes from this machine itself, and not through a proxy from who knows where. */
export function isHere(
  { ip, raw, headers }: Pick<FastifyRequest, 'ip' | 'raw' | 'headers'>,
  isTrusted: AuthenticationOptions['isTrusted'],
): boolean {
  const peer = raw.socket.remoteAddress ?? ''
  // A proxy that doesn't say who asks may speak for anybody.
  if (isTrusted(peer) && headers['x-forwarded-for'] === undefined) return false
  return isLoopbackAddress(ip)
}

/** Refuses the key of the local account where it comes from another machine. */
export type RefuseElsewhere = (request: FastifyRequest, caller: Caller) => Promise<void>

/**
 * Every route says who may use it before it can be registered; keys are checked before a body is read. The key of the
 * local account is that of whoever sits at this machine: it may do everything, and lies in a file that tools read.
 */
export function addAuthentication(
  app: FastifyInstance,
  { store, now }: Pick<ServiceDeps, 'store' | 'now'>,
  { allowLocalKey, isTrusted }: AuthenticationOptions,
): RefuseElsewhere {
  let local: Promise<string | null> | undefined
  const isLocalAccount = async ({ accountId }: Caller) => {
    local ??= localAccountId(store.db).catch((error) => {
      local = undefined
      throw error
    })
    return accountId === (await local)
  }
  const refuseElsewhere: RefuseElsewhere = async (request, caller) => {
    if (allowLocalKey || isHere(request, isTrusted) || !(await isLocalAccount(caller))) return
    throw new Refusal(403, TITLES.forbidden, LOCAL_KEY_ELSEWHERE)
  }
  app.decorateRequest('caller', null)
  app.addHook('onRoute', (route) => {
    if (route.config?.access === undefined) throw new Error(`the route ${route.url} declares no access`)
  })
  app.addHook('onRequest', async (request) => {
    // Undefined only where no route was found: that is answered with 404.
    const { access } = request.routeOptions.config
    if (access === undefined || access === 'public' || access === 'explorer' || request.method === 'OPTIONS') return
    const header = request.headers[HEADERS.apiKey]
    const caller = await authenticate(store.db, header === undefined ? undefined : String(header), access, now())
    await refuseElsewhere(request, caller)
    request.caller = caller
  })
  return refuseElsewhere
}

const LOCAL_KEY_ELSEWHERE =
  'the key of the local account is taken from its own machine only: make another with gdn key create, or see --allow-local-key'

/** The caller of a route that isn't public. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw new Error(`the route ${request.routeOptions.url} is public`)
  return request.caller
}
