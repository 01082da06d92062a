import { GdnError } from '../core/errors.ts'

/** The backend that answers at a URL. */
export interface Backend {
  url: string
  /** The UUID of its database, which stays the same when its address changes; null where the server has none. */
  id: string | null
  /** The UUID of its present data: another one after a restore. Null as above. */
  incarnation: string | null
}

/** A backend as it answers now. */
export interface SeenBackend extends Backend {
  /** Why it could not be asked who it is. */
  silence: GdnError | null
  /** Whether it runs on this machine, where another backend may have its address. */
  isLocal: boolean
}

/**
 * Stops before anything is sent to a server on this machine that didn't say who it is. Others may keep silent: hosted
 * services have no /healthz.
 */
export function refuseSilentBackend({ silence, isLocal }: SeenBackend): void {
  if (isLocal && silence !== null) throw silence
}

/** Whether an error says that a backend isn't the one any more that a command began with. */
export const isBackendChange = (error: unknown): error is GdnError =>
  error instanceof GdnError && (error.code === 'wrong_backend' || error.code === 'backend_restored')

/**
 * Stops where something recorded for one backend would go to another. What was recorded without an ID fits any server.
 *
 * @param what the thing that was recorded, such as `the run drop-3f9a`
 * @throws GdnError `wrong_backend`; what kept the server from saying who it is
 */
export function refuseOtherBackend(what: string, recorded: Backend, seen: SeenBackend): void {
  if (recorded.id === null || recorded.id === seen.id) return
  if (seen.silence !== null) throw seen.silence
  const now = seen.id === null ? 'has no ID' : `has the ID ${seen.id}`
  throw new GdnError(
    'wrong_backend',
    `${what} belongs to the backend ${recorded.id}, last at ${recorded.url}; the server at ${seen.url} ${now}`,
    {
      hint: 'Nothing was sent. Start that backend and name it with --local or --base-url <url>.',
      details: { recorded: { url: recorded.url, id: recorded.id }, found: { url: seen.url, id: seen.id } },
    },
  )
}

/** Whether the data of a backend were restored from a backup since something was recorded. */
export const isRestored = (recorded: Pick<Backend, 'incarnation'>, seen: Pick<Backend, 'incarnation'>): boolean =>
  recorded.incarnation !== null && seen.incarnation !== null && recorded.incarnation !== seen.incarnation
