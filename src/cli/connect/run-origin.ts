import type { Backend } from '../../client/backend.ts'
import type { Server } from '../../config/server.ts'

/**
 * What tells a server from others in runs. A backend on this machine may listen on another port tomorrow, and
 * another backend on this one: there it is the backend's ID.
 */
export function runOrigin({ loopback, origin }: Pick<Server, 'loopback' | 'origin'>, { id }: Backend): string {
  return loopback && id !== null ? `backend:${id}` : origin
}
