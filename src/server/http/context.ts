import type { ErrorForm } from '../../api/errors.ts'
import type { Permission } from '../../api/permissions.ts'
import type { Viewer } from '../explorer/explorer.ts'
import type { Caller } from '../services/authenticate.ts'
import type { Draining } from './draining.ts'

/** What every route declares; one without an `access` can't be registered. */
export interface RouteConfig {
  /** `public` needs no key; `explorer` a session, or on loopback nothing: explorer-access.ts sees to that. */
  access: 'public' | 'explorer' | readonly Permission[]
  errorForm: ErrorForm
  /** HTTP status of a body that can't be read as JSON; 400 where it isn't given. */
  validationStatus?: 400 | 422
}

declare module 'fastify' {
  interface FastifyContextConfig extends Partial<RouteConfig> {}
  interface FastifyInstance {
    draining: Draining
  }
  interface FastifyRequest {
    caller: Caller | null
    /** Who looks at the explorer; null on other routes. */
    viewer: Viewer | null
    /** New and this request's alone: its rows refer to it. */
    ownId: string
    /** The accepted request that the answer is about, as its rows know it. */
    accepted: string | null
  }
}
