import type { Server } from '../config/server.ts'

/** What stands in a run for the server's origin when that is on this machine. */
export const LOOPBACK_ORIGIN = 'http://localhost'

/**
 * The origin by which a run is known. A backend on this machine may listen on another port tomorrow, and is named by
 * `--local` as well as by its URL: there the collection's address alone tells the server, since it is like no other.
 */
export function runOrigin({ loopback, origin }: Pick<Server, 'loopback' | 'origin'>): string {
  return loopback ? LOOPBACK_ORIGIN : origin
}

/** Such an origin, as people know it. */
export const serverInWords = (origin: string): string => (origin === LOOPBACK_ORIGIN ? 'this machine' : origin)
