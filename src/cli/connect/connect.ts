import { createClient } from '../../client/client.ts'
import { createTransport, type TransportKind } from '../../client/create-transport.ts'
import type { KnownBackends } from '../../client/known-backends.ts'
import { createSharedPace } from '../../client/pace/shared-pace.ts'
import { createPacer } from '../../client/pacer.ts'
import { paceDirectories } from '../../config/paths.ts'
import { readProxies } from '../../config/proxy.ts'
import type { Settings } from '../../config/settings.ts'
import { messageOf } from '../../core/errors.ts'
import type { Connection } from '../deps.ts'
import { type Io, safe } from '../io/io.ts'
import { VERSION } from '../version.ts'
import { withStorage } from './with-storage.ts'

/** Connects to the server that the settings select, with the API key for that server. */
export async function connect(
  settings: Settings,
  io: Io,
  env: NodeJS.ProcessEnv,
  { kind, backends }: { kind: TransportKind; backends: KnownBackends },
): Promise<Connection> {
  const server = await settings.server()
  const apiKey = await settings.apiKey(server)
  const proxy = server.isLoopback ? undefined : readProxies(env)
  const onExchange = io.settings.debug ? (await import('./debug-exchange.ts')).debugExchanges(io) : undefined
  const shared = createSharedPace({
    folders: paceDirectories(env),
    origin: server.origin,
    apiKey,
    onTrouble: (error) => io.debug(safe(`the rate limit is not shared with other processes: ${messageOf(error)}`)),
  })
  const pacer = createPacer({
    rate: settings.rate?.value ?? null,
    observed: (endpoint) => client.observedRateLimit(endpoint),
    shared,
  })
  const client = createClient({
    baseUrl: server.baseUrl,
    apiKey,
    transport: backends.guard(await createTransport(kind, { proxy, onExchange }), server.baseUrl, {
      isLocal: server.isLoopback,
    }),
    userAgent: `gdn/${VERSION}`,
    pacer,
  })
  const uploading = withStorage(client, {
    settings,
    env,
    proxy: readProxies(env),
    userAgent: `gdn/${VERSION}`,
    onExchange,
  })
  return { client: uploading, pacer, server, settings }
}
