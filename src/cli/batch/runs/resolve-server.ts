import { openRun, type Run, type ServerOfRuns } from '../../../batch/runs/runs.ts'
import { type IdentifiedBackend, refuseOtherBackend } from '../../../client/backend.ts'
import { localBackendId } from '../../../config/local-backend-id.ts'
import { localDataDirectory } from '../../../config/paths.ts'
import type { Server } from '../../../config/server.ts'
import type { Settings } from '../../../config/settings.ts'
import { GdnError } from '../../../core/errors.ts'
import { parseUrl } from '../../../core/parse-url.ts'
import { runOrigin } from '../../../operations/run-origin.ts'
import type { Deps } from '../../deps.ts'
import type { ServerFlags } from '../../flags/common.ts'
import { formatServerFlags } from '../options/format-flags.ts'

/** Flags that select a run on this machine. */
export interface RunFlags extends ServerFlags {
  contract?: string
}

/** A run with the values that identify its server. */
type RunOnServer = Pick<Run, 'name' | 'origin' | 'url' | 'backendId'>

/** Returns the server that a flag selects; undefined if no flag selects one. The server may be unreachable. */
export async function resolveServer(deps: Deps, flags: ServerFlags): Promise<ServerOfRuns | undefined> {
  return hasServerFlag(flags) ? await configuredServer(deps, await deps.settings(flags)) : undefined
}

/**
 * Returns the server that flags and configuration select.
 *
 * @throws GdnError `usage` if they select none
 */
export async function configuredServer(deps: Deps, settings: Settings): Promise<ServerOfRuns> {
  if (settings.profile === 'local' && settings.baseUrl === null) {
    const id = await localBackendId(localDataDirectory(deps.env))
    return { name: 'the local backend', has: (run) => id !== null && run.backendId === id }
  }
  const server = await settings.server()
  const { origin } = server
  if (!server.isLoopback) return { name: origin, has: (run) => run.origin === origin }
  const id = (await readBackend(deps, server))?.id ?? null
  const has: ServerOfRuns['has'] = (run) =>
    id === null ? parseUrl(run.url ?? '')?.origin === origin : run.backendId === id
  return { name: origin, has }
}

/**
 * Finds a run by its ID, name or manifest. Flags limit the search to one server and one collection. If several runs
 * match, the server and the contract from the environment, the project or the profile select one of them.
 *
 * @throws GdnError `not_found_locally` if no run matches, or if several do
 */
export async function findRun(deps: Deps, name: string, flags: RunFlags): Promise<Run> {
  const settings = await deps.settings(flags)
  const { stateDir, contract } = settings
  const selected = await resolveServer(deps, flags)
  const serverFlags = async (run: Run) => {
    const { stateDir: given } = flags
    const own = selected?.has(run) === true ? flags : given === undefined ? {} : { stateDir: given }
    return formatServerFlags(await addRunServerFlag(deps, run, own))
  }
  const limits = { collection: flags.contract, cwd: deps.cwd, serverFlags }
  try {
    return await openRun(stateDir, name, { ...limits, server: selected })
  } catch (error) {
    // A profile may have no server.
    const isConfigured = settings.baseUrl !== null || settings.profile === 'local'
    if (!hasRunChoices(error) || (contract === null && (selected !== undefined || !isConfigured))) throw error
    const server = selected ?? (isConfigured ? await configuredServer(deps, settings) : undefined)
    return await openRun(stateDir, name, { ...limits, server, contract: contract?.value }).catch((other: unknown) => {
      throw hasRunChoices(other) ? other : error
    })
  }
}

/** Returns whether the details of an error list runs to choose from. */
export const hasRunChoices = (error: unknown): boolean =>
  error instanceof GdnError && error.code === 'not_found_locally' && error.details !== undefined

/** Returns the backend that responds at a server; null if none responds. */
async function readBackend(deps: Deps, server: Server): Promise<IdentifiedBackend | null> {
  const backend = await deps.identify(server, 'once').catch((error: unknown) => {
    if (error instanceof GdnError && error.code === 'bad_answer') return null
    throw error
  })
  return backend?.silence === null ? backend : null
}

/**
 * Returns settings that reach a run's server. A backend on this machine is recognized by its ID on any port. The
 * backend may be the configured server, the local backend, or the backend at the URL where the run started.
 *
 * @throws GdnError `wrong_backend` if the flags select a different server, or if another backend is at the run's URL;
 * `unreachable` if no backend responds there
 */
export async function resolveRunSettings<Flags extends ServerFlags>(
  deps: Deps,
  run: RunOnServer,
  flags: Flags,
): Promise<Settings> {
  const settings = await deps.settings(flags)
  if (hasServerFlag(flags)) {
    await refuseOtherServer(deps, run, await settings.server())
    return settings
  }
  const configured = await settings.server().catch(() => null)
  if (configured !== null && (await isServerOf(deps, run, configured))) return settings
  const local = await deps.settings({ ...flags, local: true })
  const last = await deps.settings({ ...flags, baseUrl: run.url })
  if (!(await last.server()).isLoopback) return last
  for (const candidate of [local, last]) {
    const server = await candidate.server().catch(() => null)
    if (server !== null && (await isServerOf(deps, run, server))) return candidate
  }
  throw await notFoundError(deps, run, await last.server())
}

/**
 * Returns the flags with which other commands reach a run's server. If no flag selects a server, and the configuration
 * selects a different server or none, adds a flag for the run's server.
 */
export async function addRunServerFlag<Flags extends ServerFlags>(
  deps: Deps,
  run: RunOnServer,
  flags: Flags,
): Promise<Flags> {
  if (hasServerFlag(flags)) return flags
  const configured = await configuredServer(deps, await deps.settings(flags)).catch(() => null)
  if (configured?.has(run) === true) return flags
  const local = run.backendId === null ? null : await localBackendId(localDataDirectory(deps.env))
  if (local !== null && local === run.backendId) return { ...flags, local: true }
  return run.url === null ? flags : { ...flags, baseUrl: run.url }
}

async function isServerOf(deps: Deps, run: RunOnServer, server: Server): Promise<boolean> {
  if (!server.isLoopback) return run.origin === server.origin
  const backend = await readBackend(deps, server)
  return backend !== null && runOrigin(server, backend) === run.origin
}

async function refuseOtherServer(deps: Deps, run: RunOnServer, server: Server): Promise<void> {
  const backend = await deps.identify(server)
  refuseOtherBackend(`the run ${run.name}`, { url: run.url, id: run.backendId, incarnation: null }, backend)
  if (runOrigin(server, backend) === run.origin) return
  throw new GdnError('wrong_backend', `the run ${run.name} belongs to ${run.url}, not to ${server.origin}`, {
    hint: `Nothing was sent. Omit ${server.from}, or add --base-url ${run.url}.`,
    details: { recorded: { url: run.url, id: run.backendId }, found: { url: backend.url, id: backend.id } },
  })
}

/** Creates the error for a run whose backend doesn't respond, or whose URL has another backend. */
async function notFoundError(deps: Deps, run: RunOnServer, last: Server): Promise<GdnError> {
  const backend = await readBackend(deps, last)
  const hint = 'Run `gdn local start`, or start the backend and add --base-url <url>.'
  if (backend === null) {
    const name = run.backendId === null ? '' : ` (${run.backendId})`
    return new GdnError(
      'unreachable',
      `the backend of the run ${run.name}${name} is not running; it was last seen at ${run.url}`,
      { hint },
    )
  }
  const is = backend.id === null ? 'a server without an ID' : `the backend ${backend.id}`
  const belongs = run.backendId === null ? 'a backend with an unknown ID' : `the backend ${run.backendId}`
  return new GdnError(
    'wrong_backend',
    `the run ${run.name} belongs to ${belongs}, last seen at ${run.url}; that URL now belongs to ${is}`,
    { hint, details: { recorded: { url: run.url, id: run.backendId }, found: { url: backend.url, id: backend.id } } },
  )
}

/**
 * Returns settings that reach a run's server. If no flag selects a server and the run's backend isn't found, returns
 * the error instead of throwing it.
 */
export async function resolveRunSettingsIfFound(
  deps: Deps,
  run: RunOnServer,
  flags: ServerFlags,
): Promise<Settings | GdnError> {
  return await resolveRunSettings(deps, run, flags).catch((error: unknown) => {
    const isGone = error instanceof GdnError && (error.code === 'unreachable' || error.code === 'wrong_backend')
    if (isGone && !hasServerFlag(flags)) return error
    throw error
  })
}

const hasServerFlag = ({ local, baseUrl, profile }: ServerFlags): boolean =>
  local === true || baseUrl !== undefined || profile !== undefined
