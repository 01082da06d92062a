import type { Endpoint } from '../../api/endpoint.ts'
import type { ErrorForm } from '../../api/errors.ts'
import type { Permission } from '../../api/permissions.ts'
import type { ApiVersion } from '../../api/versions.ts'
import type { Viewer } from '../explorer/explorer.ts'
import type { Caller } from '../services/authenticate.ts'
import type { Draining } from './draining.ts'

/** The properties that every route declares. A route without `access` can't be registered. */
export interface RouteConfig {
  /**
   * The required access. `public` needs no key. `explorer` needs a session, except on loopback: see explorer-access.ts.
   * An array lists the permissions that the key needs.
   */
  access: 'public' | 'explorer' | readonly Permission[]
  /** `all` if the key must have all of the permissions, `any` if one of them suffices. Default: `all`. */
  needs?: 'all' | 'any'
  errorForm: ErrorForm
  /** The contract of the endpoint in each version of the API. */
  contracts?: Readonly<Record<ApiVersion, Endpoint>>
}

declare module 'fastify' {
  interface FastifyContextConfig extends Partial<RouteConfig> {}
  interface FastifyInstance {
    draining: Draining
  }
  interface FastifyRequest {
    caller: Caller | null
    /** The API version of the caller's key, or else of the server. */
    apiVersion: ApiVersion
    /** The viewer of the web explorer; null on other routes. */
    viewer: Viewer | null
    /** The ID that this server generates for the request. The request's rows in the database refer to it. */
    ownId: string
    /**
     * The `ownId` of the request that the response is about. For a replayed response, this is the `ownId` of the first
     * request.
     */
    accepted: string | null
    /** Time in milliseconds for which the response was held because the client was waiting for a change. */
    heldMs: number
  }
}
