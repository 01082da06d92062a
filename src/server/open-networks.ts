import type { Blockchain } from '../api/blockchains.ts'
import type { Signer } from './chain/evm/evm-signer.ts'
import type { RemoteChains, RemoteChainsOptions } from './chain/evm/remote/remote-chains.ts'
import { openRemote } from './chain/remote.ts'
import { createProviders } from './chain/rpc/providers.ts'
import { openClusters } from './chain/solana/clusters.ts'
import type { RemoteClusters } from './chain/solana/remote/remote-clusters.ts'
import type { Log } from './log.ts'
import type { ChainSettings, ServerSettings } from './settings/types.ts'
import type { Db } from './store/schema.ts'

/** A network behind an RPC URL on this machine. Its signers exist only on the fork. */
export interface ForkedChain {
  settings: ChainSettings
  signers: readonly Signer[]
}

export interface NetworksOptions {
  db: Db
  settings: Pick<ServerSettings, 'chains' | 'clusters'>
  /** Whether this process signs transactions. If not, it never reads private keys. */
  canSign: boolean
  /** A fork whose signers replace those of the settings. */
  fork: ForkedChain | undefined
  credentialsDirectory: string | undefined
  now: () => number
  log: Log
  onRequest: NonNullable<RemoteChainsOptions['onRequest']>
}

export interface OpenNetworks {
  remote: RemoteChains
  clusters: RemoteClusters
}

/** Opens the networks behind RPC URLs. Networks with the same provider share its request limits. */
export async function openNetworks(options: NetworksOptions, undo: (() => unknown)[]): Promise<OpenNetworks> {
  const { db, settings, canSign, fork, credentialsDirectory, now, log, onRequest } = options
  const byUrl = [...settings.chains.values(), ...settings.clusters.values()]
  const providers = createProviders(byUrl.flatMap(({ requestLimits }) => [...requestLimits]))
  const remote = await openRemote({
    db,
    settings: settings.chains,
    openSigners: async ({ blockchain, operators }) => {
      if (fork?.settings.blockchain === blockchain) return fork.signers
      const { openAddressOnlySigners, openSigners } = await import('./chain/evm/open-signer.ts')
      if (!canSign) return openAddressOnlySigners(operators)
      return await openSigners(operators, credentialsDirectory)
    },
    now,
    log,
    providers,
    onRequest,
  })
  undo.push(() => remote.close())
  const clusters = await openClusters({
    db,
    settings: settings.clusters,
    openSigner: async ({ signer }) => {
      if (!canSign) return null
      const { openSolanaSigner } = await import('./chain/solana/open-signer.ts')
      return await openSolanaSigner(signer, credentialsDirectory)
    },
    log,
    providers,
    onRequest,
  })
  undo.push(() => clusters.close())
  return { remote, clusters }
}

/** Returns the blockchains with an RPC URL, and whether a problem prevents the use of each. */
export async function readNetworkStates({
  remote,
  clusters,
}: OpenNetworks): Promise<{ blockchain: Blockchain; isHindered: boolean }[]> {
  const networks: (RemoteChains | RemoteClusters)[] = [remote, clusters]
  const unreachable = new Set(
    (await Promise.all(networks.map((group) => group.unreachable()))).flat().map((network) => network.blockchain),
  )
  const all = networks.flatMap(({ blockchains }) => [...blockchains])
  return all.map((blockchain) => ({ blockchain, isHindered: unreachable.has(blockchain) }))
}
