import { type EndpointName, loadEndpoint } from '../../api/endpoints.ts'
import type { Settings } from '../../config/settings.ts'
import type { Connection, Deps } from '../deps.ts'
import type { Io } from '../io/io.ts'

/** Prints the request that would be sent. The server doesn't need to be running. */
export async function printDryRun(io: Io, settings: Settings, name: EndpointName, body: unknown): Promise<void> {
  const server = await settings.server().catch(() => null)
  const { path } = await loadEndpoint(name)
  const url = `${server?.baseUrl ?? settings.baseUrl?.value ?? ''}${path}`
  const request = { method: 'POST', url, body }
  await io.data(`${JSON.stringify(request, null, io.settings.machine && !io.stdoutTty ? undefined : 2)}\n`)
  io.note('Nothing was sent (--dry-run).')
}

/**
 * Connects to the server in a dry run, to check which features it supports. Returns null if no server or key is
 * configured.
 */
export async function connectForDryRun(deps: Deps, settings: Settings): Promise<Connection | null> {
  return await deps.connect(settings).catch(() => null)
}
