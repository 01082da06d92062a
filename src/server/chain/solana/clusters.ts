import type { SolanaBlockchain } from '../../../api/blockchains.ts'
import type { RemoteClusters, RemoteClustersOptions } from './remote/remote-clusters.ts'

const throwNoCluster = (blockchain: SolanaBlockchain): never => {
  throw new Error(`${blockchain} has no RPC URL`)
}

export const NO_CLUSTERS: RemoteClusters = {
  blockchains: [],
  has: () => false,
  hasValue: () => false,
  network: throwNoCluster,
  address: async (blockchain) => throwNoCluster(blockchain),
  signer: async (blockchain) => throwNoCluster(blockchain),
  affordable: async (blockchain) => throwNoCluster(blockchain),
  problem: () => null,
  unreachable: async () => [],
  signerBalances: () => [],
  blockExplorerUrl: () => null,
  close: async () => {},
}

/** Opens the configured clusters. Loads the client code only if clusters are configured. */
export async function openClusters(options: RemoteClustersOptions): Promise<RemoteClusters> {
  if (options.settings.size === 0) return NO_CLUSTERS
  const { openRemoteClusters } = await import('./remote/remote-clusters.ts')
  return await openRemoteClusters(options)
}
