import { type EvmBlockchain, isBlockchain, isEvm } from '../../api/blockchains.ts'
import { GdnError } from '../../core/errors.ts'
import type { ServerSettings } from '../settings/types.ts'
import { listChains } from '../store/chains.ts'
import type { Db } from '../store/schema.ts'
import type { RemoteChains, RemoteChainsOptions } from './evm/remote/remote-chains.ts'

const throwNoNetwork = (blockchain: EvmBlockchain): never => {
  throw new Error(`${blockchain} has no RPC URL`)
}

const NO_CHAINS: RemoteChains = {
  blockchains: [],
  has: () => false,
  hasValue: () => false,
  network: throwNoNetwork,
  signing: async (blockchain) => throwNoNetwork(blockchain),
  findSigner: async (blockchain) => throwNoNetwork(blockchain),
  getFactoryAddress: async (_db, blockchain) => throwNoNetwork(blockchain),
  problem: () => null,
  silenceReason: () => null,
  newestBlock: async () => null,
  findBestFunded: () => null,
  shortage: async () => null,
  unreachable: async () => [],
  signerBalances: () => [],
  blockExplorerUrl: () => null,
  close: async () => {},
}

/** Opens the configured networks. Loads the client code only if networks are configured. */
export async function openRemote(options: RemoteChainsOptions): Promise<RemoteChains> {
  if (options.settings.size === 0) return NO_CHAINS
  const { openRemoteChains } = await import('./evm/remote/remote-chains.ts')
  return await openRemoteChains(options)
}

/**
 * Checks that the data in the database belongs to the configured networks.
 *
 * @throws GdnError `invalid_config` if the configured network of a blockchain isn't the one in this database
 */
export async function refuseOtherNetworks(
  db: Db,
  { chains, clusters }: Pick<ServerSettings, 'chains' | 'clusters'>,
): Promise<void> {
  for (const row of await listChains(db)) {
    const { blockchain } = row
    if (!isBlockchain(blockchain)) continue
    const configured = isEvm(blockchain)
      ? labeledValue('chain ID', chains.get(blockchain)?.chainId)
      : labeledValue('genesis', clusters.get(blockchain)?.genesisHash)
    const stored = isEvm(blockchain)
      ? labeledValue('chain ID', row.chain_id)
      : labeledValue('genesis', row.genesis_hash)
    if (row.network === 'embedded' ? configured === null : configured === stored) continue
    const storedAs = row.network === 'embedded' ? 'an embedded chain' : `the network of ${stored}`
    throw new GdnError(
      'invalid_config',
      `the database stores ${blockchain} as ${storedAs}, but the configuration has ${configured ?? 'no network'}`,
      {
        hint: 'Use another data directory, or the configuration for this directory.',
      },
    )
  }
}

const labeledValue = (label: string, value: string | number | null | undefined): string | null =>
  value === null || value === undefined ? null : `${label} ${value}`
