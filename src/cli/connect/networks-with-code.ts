import { type Blockchain, isEvm } from '../../api/blockchains.ts'
import { createTransport } from '../../client/create-transport.ts'
import { findRunningBackend } from '../../config/local-backend.ts'
import { localDataDirectory } from '../../config/paths.ts'
import { selectProxies } from '../../config/proxy.ts'
import type { Server } from '../../config/server.ts'
import { readUserConfig } from '../../config/user-file.ts'
import type { GdnError } from '../../core/errors.ts'
import { parseUrl, trimSlashes } from '../../core/parse-url.ts'
import { withTimeout } from '../../core/with-timeout.ts'
import { hasCode } from '../../holders/first-block.ts'
import { queryStateIfReadable } from '../../state/glance.ts'
import { listKnownCollections } from '../../state/known-collections.ts'
import { createChainReader } from '../../verify/chain-reader.ts'
import type { Deps } from '../deps.ts'
import { VERSION } from '../version.ts'
import { debugExchanges } from './debug-exchange.ts'

/** An EVM network to which a server gives access. */
export interface NetworkOfServer {
  baseUrl: string
  blockchain: Blockchain
}

/** Returns the JSON-RPC URL of an embedded chain. */
const toRpcUrl = ({ baseUrl, blockchain }: NetworkOfServer): string => `${baseUrl}/rpc/${blockchain}`

/** If an address has no code on one network, adds the networks on which it has code to the error. */
export async function addNetworksToError(
  deps: Deps,
  {
    contract,
    blockchain,
    server,
    stateDir,
  }: { contract: string; blockchain: Blockchain; server: Pick<Server, 'baseUrl'> | null; stateDir: string },
  error: GdnError,
): Promise<GdnError> {
  const serverNetwork = server === null ? null : { baseUrl: server.baseUrl, blockchain }
  const networks = await networksWithCode(deps, contract, stateDir, serverNetwork)
  const [first] = networks
  if (first === undefined) return error
  const names = networks.map((network) => `${network.blockchain} (${network.baseUrl})`)
  return error.with({
    hint: `The address has code on ${names.join(' and ')}. Use \`-b ${first.blockchain} --rpc-url ${toRpcUrl(first)}\`.`,
    details: { networks: networks.map((network) => ({ blockchain: network.blockchain, base_url: network.baseUrl })) },
  })
}

const MAX_NETWORKS = 20
const TIMEOUT_MS = 3_000

/**
 * Returns the networks on which an address has code. Searches the networks of the user's profiles, and those of the
 * collections that this machine created. A server gives access only to its embedded chains. Ignores networks that don't
 * respond within 3 s.
 *
 * @param serverNetwork the network on which the address has no code
 */
async function networksWithCode(
  deps: Deps,
  contract: string,
  stateDir: string,
  serverNetwork: NetworkOfServer | null,
): Promise<NetworkOfServer[]> {
  const networks = await knownNetworks(deps, stateDir)
  const otherNetworks = networks.filter(
    (network) => network.baseUrl !== serverNetwork?.baseUrl || network.blockchain !== serverNetwork.blockchain,
  )
  const stop = new AbortController()
  const signal = AbortSignal.any([deps.signals.signal, stop.signal])
  try {
    const haveCode = await Promise.all(
      otherNetworks
        .slice(0, MAX_NETWORKS)
        .map((network) => withTimeout(isDeployedOn(deps, contract, network, signal), TIMEOUT_MS)),
    )
    return otherNetworks.filter((_, at) => haveCode[at] === true)
  } finally {
    stop.abort()
  }
}

async function knownNetworks({ env }: Deps, stateDir: string): Promise<NetworkOfServer[]> {
  const { profiles = {} } = await readUserConfig(env)
  const local = (await findRunningBackend(localDataDirectory(env)))?.url
  const ofProfiles = Object.entries(profiles).map(([name, { base_url, blockchain }]) => ({
    url: base_url ?? (name === 'local' ? local : undefined),
    blockchain,
  }))
  const networks = new Map<string, NetworkOfServer>()
  for (const { url, blockchain } of [...ofProfiles, ...queryStateIfReadable(stateDir, listKnownCollections)]) {
    const baseUrl = trimSlashes(url ?? '')
    if (blockchain === undefined || !isEvm(blockchain) || parseUrl(baseUrl) === null) continue
    networks.set(`${baseUrl} ${blockchain}`, { baseUrl, blockchain })
  }
  return [...networks.values()]
}

async function isDeployedOn(
  { env, io, sleep }: Deps,
  contract: string,
  network: NetworkOfServer,
  signal: AbortSignal,
): Promise<boolean> {
  const transport = await createTransport('single', {
    proxy: selectProxies(network.baseUrl, env),
    onExchange: debugExchanges(io),
  })
  const reader = createChainReader({
    url: toRpcUrl(network),
    transport,
    clock: { now: () => performance.now(), sleep, random: Math.random },
    userAgent: `gdn/${VERSION}`,
    signal,
  })
  try {
    return (await hasCode(reader, contract, 'latest')) === true
  } catch {
    return false
  } finally {
    await transport.close()
  }
}
