import { GdnError } from '../core/errors.ts'

/** The backend at a URL. */
export interface Backend {
  url: string
  /**
   * UUID of the backend's database, which stays the same when the address changes. Null if the server has no such ID.
   */
  id: string | null
  /** UUID of the backend's current data, which changes when a backup is restored. Null if the server has no such ID. */
  incarnation: string | null
}

/** A backend whose identity was just read. */
export interface IdentifiedBackend extends Backend {
  /** The reason why the backend couldn't be identified, or null. */
  silence: GdnError | null
  /** Whether the backend runs on this machine, where another backend may start at the same address. */
  isLocal: boolean
}

/**
 * Refuses a server on this machine that couldn't be identified, before anything is sent to it. Other servers don't need
 * an identity, because hosted services have no /healthz.
 */
export function refuseSilentBackend({ silence, isLocal }: IdentifiedBackend): void {
  if (isLocal && silence !== null) throw silence
}

/** Returns whether an error means that the backend has changed since the command began. */
export const isBackendChange = (error: unknown): error is GdnError =>
  error instanceof GdnError && (error.code === 'wrong_backend' || error.code === 'backend_restored')

/**
 * Throws unless a recorded item belongs to the given backend. A record without a backend ID matches any server.
 *
 * @param subject the recorded item, such as `the run drop-3f9a`
 * @throws GdnError `wrong_backend`, or the error that prevented the identification
 */
export function refuseOtherBackend(subject: string, recorded: Backend, current: IdentifiedBackend): void {
  if (recorded.id === null || recorded.id === current.id) return
  if (current.silence !== null) throw current.silence
  const idText = current.id === null ? 'has no ID' : `has the ID ${current.id}`
  throw new GdnError(
    'wrong_backend',
    `${subject} belongs to the backend ${recorded.id}, last seen at ${recorded.url}; the server at ${current.url} ${idText}`,
    {
      hint: [
        'Nothing was sent. Start that backend and select it with --local or --base-url <url>.',
        'If the data of that backend was deleted, create another collection with `gdn collection create`.',
      ].join('\n'),
      details: { recorded: { url: recorded.url, id: recorded.id }, found: { url: current.url, id: current.id } },
    },
  )
}

/** Returns whether a backup of the backend was restored after the identity was recorded. */
export const isRestored = (recorded: Pick<Backend, 'incarnation'>, current: Pick<Backend, 'incarnation'>): boolean =>
  recorded.incarnation !== null && current.incarnation !== null && recorded.incarnation !== current.incarnation
