import type { IdentifiedBackend } from '../../client/backend.ts'
import { createTransport } from '../../client/create-transport.ts'
import type { KnownBackends } from '../../client/known-backends.ts'
import { readProxies } from '../../config/proxy.ts'
import type { Server } from '../../config/server.ts'
import { GdnError } from '../../core/errors.ts'
import type { Edge } from '../deps.ts'
import type { Io } from '../io/io.ts'
import { debugExchanges } from './debug-exchange.ts'

/**
 * Identifies the backend of a server without sending the key.
 *
 * @throws GdnError `bad_answer`
 */
export async function identify(
  { env, signals }: Pick<Edge, 'env' | 'signals'>,
  io: Io,
  backends: KnownBackends,
  { baseUrl, isLoopback }: Server,
  how: 'once' | 'patiently' = 'patiently',
): Promise<IdentifiedBackend> {
  const proxy = isLoopback ? undefined : readProxies(env)
  const transport = await createTransport('single', { proxy, onExchange: debugExchanges(io) })
  try {
    return {
      url: baseUrl,
      ...(await backends.identify(transport, baseUrl, { how, signal: signals.signal })),
      silence: null,
      isLocal: isLoopback,
    }
  } catch (error) {
    if (!(error instanceof GdnError) || error.code !== 'unreachable') throw error
    if (isLoopback) backends.close(baseUrl, error)
    return { url: baseUrl, id: null, incarnation: null, silence: error, isLocal: isLoopback }
  } finally {
    await transport.close()
  }
}
