import { type Backend, refuseOtherBackend } from '../../client/backend.ts'
import type { Settings } from '../../config/settings.ts'
import { GdnError } from '../../core/errors.ts'
import { runOrigin, toBackendOrigin } from '../../operations/run-origin.ts'
import { listBackendsOfCollection } from '../../state/collections.ts'
import { queryStateIfReadable } from '../../state/glance.ts'
import type { Deps } from '../deps.ts'

/** Matches errors, from a server or from this machine, about a collection that the server doesn't have. */
const UNKNOWN_COLLECTION =
  /(\w+) (?:is not a (?:collection of this account|gdn collection on [\w-]+)$|was not created on this machine)/

/**
 * Replaces the error about a collection that the backend on this machine lacks but another backend has, such as the
 * backend before `gdn local reset`. The new error names both backends. Returns other errors unchanged.
 *
 * @param settings the last settings that the command read
 */
export async function withOtherBackend(
  error: unknown,
  deps: Pick<Deps, 'identify'>,
  settings: Settings | undefined,
): Promise<unknown> {
  const address = error instanceof GdnError ? UNKNOWN_COLLECTION.exec(error.message)?.[1] : undefined
  if (address === undefined || settings === undefined) return error
  try {
    const server = await settings.server()
    if (!server.isLoopback) return error
    const backend = await deps.identify(server, 'once')
    const recordedBackends = queryStateIfReadable(settings.stateDir, (sql) =>
      listBackendsOfCollection(sql, toBackendOrigin(''), address),
    )
    const origin = runOrigin(server, backend)
    const [other] = recordedBackends.some((candidate) => candidate.origin === origin) ? [] : recordedBackends
    if (other === undefined) return error
    const recorded: Backend = { ...other, url: other.url ?? backend.url, incarnation: null }
    refuseOtherBackend(`the collection ${address}`, recorded, backend)
  } catch (other) {
    if (other instanceof GdnError && other.code === 'wrong_backend') return other
  }
  return error
}
