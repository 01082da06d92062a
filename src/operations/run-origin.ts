import type { Backend } from '../client/backend.ts'

/** Identifies a backend on this machine by its ID. */
export const originOfBackend = (id: string): string => `backend:${id}`

/**
 * Returns the identity of a server in runs. For a backend on this machine, that is its ID, because its port may change,
 * and another backend may use the same port later.
 */
export function runOrigin(
  { loopback, origin }: { loopback: boolean; origin: string },
  { id }: Pick<Backend, 'id'>,
): string {
  return loopback && id !== null ? originOfBackend(id) : origin
}
