import type { Backend } from '../../client/backend.ts'
import type { Server } from '../../config/server.ts'

/** Identifies a backend on this machine by its ID. */
export const originOfBackend = (id: string): string => `backend:${id}`

/**
 * What tells a server from others in runs. A backend on this machine may listen on another port tomorrow, and
 * another backend on this one: there it is the backend's ID.
 */
export function runOrigin(
  { loopback, origin }: Pick<Server, 'loopback' | 'origin'>,
  { id }: Pick<Backend, 'id'>,
): string {
  return loopback && id !== null ? originOfBackend(id) : origin
}
