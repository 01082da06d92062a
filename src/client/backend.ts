import { GdnError } from '../core/errors.ts'

/** The backend at a URL. */
export interface Backend {
  url: string
  /** The UUID of its database, which stays the same when its address changes; null where the server has none. */
  id: string | null
  /** The UUID of its present data, which changes after a restore. Null as above. */
  incarnation: string | null
}

/** A backend as identified now. */
export interface SeenBackend extends Backend {
  /** Why the backend could not be identified. */
  silence: GdnError | null
  /** Whether the backend runs on this machine, where another backend may have its address. */
  isLocal: boolean
}

/**
 * Throws before anything is sent to a server on this machine that could not be identified. Other servers need not have
 * an identity: hosted services have no /healthz.
 */
export function refuseSilentBackend({ silence, isLocal }: SeenBackend): void {
  if (isLocal && silence !== null) throw silence
}

/** Whether an error means that the backend is no longer the one with which the command began. */
export const isBackendChange = (error: unknown): error is GdnError =>
  error instanceof GdnError && (error.code === 'wrong_backend' || error.code === 'backend_restored')

/**
 * Throws if something that was recorded for one backend would be sent to another. A record without an ID matches any
 * server.
 *
 * @param what the recorded thing, such as `the run drop-3f9a`
 * @throws GdnError `wrong_backend`; the error that prevented the identification
 */
export function refuseOtherBackend(what: string, recorded: Backend, seen: SeenBackend): void {
  if (recorded.id === null || recorded.id === seen.id) return
  if (seen.silence !== null) throw seen.silence
  const now = seen.id === null ? 'has no ID' : `has the ID ${seen.id}`
  throw new GdnError(
    'wrong_backend',
    `${what} belongs to the backend ${recorded.id}, last seen at ${recorded.url}; the server at ${seen.url} ${now}`,
    {
      hint: [
        'Nothing was sent. Start that backend and select it with --local or --base-url <url>.',
        'If its data was deleted, create another collection with `gdn collection create`.',
      ].join('\n'),
      details: { recorded: { url: recorded.url, id: recorded.id }, found: { url: seen.url, id: seen.id } },
    },
  )
}

/** Whether the data of a backend was restored from a backup since something was recorded. */
export const isRestored = (recorded: Pick<Backend, 'incarnation'>, seen: Pick<Backend, 'incarnation'>): boolean =>
  recorded.incarnation !== null && seen.incarnation !== null && recorded.incarnation !== seen.incarnation
