import type { Backend } from '../client/backend.ts'

/** Returns the origin of runs that use a backend on this machine. */
export const toBackendOrigin = (id: string): string => `backend:${id}`

/**
 * Returns the origin that identifies a server in runs. A backend on this machine is identified by its ID, because its
 * port may change or be reused by another backend.
 */
export function runOrigin(
  { isLoopback, origin }: { isLoopback: boolean; origin: string },
  { id }: Pick<Backend, 'id'>,
): string {
  return isLoopback && id !== null ? toBackendOrigin(id) : origin
}
