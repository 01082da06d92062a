import { createTransport } from '../../../../client/create-transport.ts'
import type { Transport } from '../../../../client/transport.ts'
import { readProxies } from '../../../../config/proxy.ts'
import type { Server } from '../../../../config/server.ts'
import { sleep } from '../../../../core/time.ts'
import { debugExchanges } from '../../../connect/debug-exchange.ts'
import type { Deps } from '../../../deps.ts'
import { VERSION } from '../../../version.ts'

/** An IPFS gateway, and the dependencies for reading from it. */
export interface GatewayAccess {
  gateway: string
  transport: Transport
  clock: { now(): number; sleep: typeof sleep; random(): number }
  userAgent: string
  signal: AbortSignal
}

/** Calls `work` with the gateway in `--gateway`, or else with the server's gateway; null if there is none. */
export async function withGateway<Result>(
  { env, io, signals }: Pick<Deps, 'env' | 'io' | 'signals'>,
  { gateway }: { gateway?: string },
  server: Pick<Server, 'baseUrl' | 'isLoopback'> | null,
  work: (access: GatewayAccess | null) => Promise<Result>,
): Promise<Result> {
  const url = gateway ?? server?.baseUrl
  if (url === undefined) return await work(null)
  const isLocal = gateway === undefined && server?.isLoopback === true
  const transport = await createTransport('single', {
    proxy: isLocal ? undefined : readProxies(env),
    onExchange: debugExchanges(io),
  })
  try {
    return await work({
      gateway: url,
      transport,
      clock: { now: () => performance.now(), sleep, random: Math.random },
      userAgent: `gdn/${VERSION}`,
      signal: signals.signal,
    })
  } finally {
    await transport.close()
  }
}
