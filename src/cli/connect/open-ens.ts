import { createTransport } from '../../client/create-transport.ts'
import { readProxies } from '../../config/proxy.ts'
import type { Setting, Settings } from '../../config/settings.ts'
import { flagError } from '../../core/errors.ts'
import { hasUserInfo, parseUrl } from '../../core/parse-url.ts'
import { createGatewayClient } from '../../ens/gateway.ts'
import { createEnsResolver, type EnsResolver } from '../../ens/resolver.ts'
import type { Deps } from '../deps.ts'
import { VERSION } from '../version.ts'
import { debugExchanges } from './debug-exchange.ts'
import { httpUrl } from './open-verifier.ts'

/**
 * Calls `work` with a resolver of ENS names at the configured Ethereum node. Closes the resolver's connections
 * afterward.
 */
export async function withEns<Result>(
  { env, io, signals }: Pick<Deps, 'env' | 'io' | 'signals'>,
  node: NonNullable<Settings['ensRpcUrl']>,
  { ccip = true }: { ccip?: boolean | undefined },
  work: (resolver: EnsResolver) => Promise<Result>,
): Promise<Result> {
  const { url, setting } = checkNode(node)
  const userAgent = `gdn/${VERSION}`
  const transport = await createTransport('single', { proxy: readProxies(env), onExchange: debugExchanges(io) })
  const gateways = ccip ? createGatewayClient({ userAgent }) : null
  try {
    return await work(
      createEnsResolver({ node: { url, setting }, transport, userAgent, gateways, signal: signals.signal }),
    )
  } finally {
    await Promise.all([transport.close(), gateways?.close()])
  }
}

function checkNode({ value, from }: Setting<string>): { url: string; setting: string } {
  const setting = from.startsWith('profile ') ? `ens_rpc_url of ${from}` : from
  const url = httpUrl(value, setting)
  const parsed = parseUrl(url)
  if (parsed !== null && hasUserInfo(parsed)) throw flagError(setting, 'must not have a user name or password')
  return { url, setting }
}
