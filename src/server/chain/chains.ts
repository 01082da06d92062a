import { join } from 'node:path'
import { blockchainHint } from '../../api/blockchain-hint.ts'
import { type Blockchain, type EvmBlockchain, isEvm, isKnownBlockchain, KNOWN_NAMES } from '../../api/blockchains.ts'
import { transactionUrl } from '../../core/block-explorer.ts'
import { GdnError } from '../../core/errors.ts'
import type { SecretLocation } from '../data-dir/secret-in-file.ts'
import type { Db } from '../store/schema.ts'
import type { EmbeddedChainEvent } from './evm/embedded/embedded-chain.ts'
import { createEmbeddedChains } from './evm/embedded/embedded-chains.ts'
import type { LazySigners } from './evm/embedded/embedded-signers.ts'
import { endOrphans } from './evm/embedded/pidfile.ts'
import { EMBEDDED_FEES, type FindSigner, findSignerByAddress, type GetSigningTerms } from './evm/evm-signer.ts'
import type { EvmNetwork, Hex } from './evm/network.ts'
import type { RemoteChains } from './evm/remote/remote-chains.ts'
import { NO_CLUSTERS } from './solana/clusters.ts'
import type { EmbeddedSolanaEvent } from './solana/embedded/embedded-solana.ts'
import type { RemoteClusters } from './solana/remote/remote-clusters.ts'
import { createSolanaChains, type SolanaChains } from './solana/solana-chains.ts'

/** The chains of a backend: embedded chains, whose nodes start on first use, and networks with an RPC URL. */
export interface Chains {
  readonly signing: GetSigningTerms
  readonly findSigner: FindSigner
  /** Whether all chains are embedded. If so, no coins have value. */
  readonly embedded: boolean
  readonly solana: SolanaChains
  /** The networks with an RPC URL. */
  readonly remote: RemoteChains
  /**
   * The blockchain names that requests may contain: first the networks that need no configuration, then those that the
   * operator added.
   */
  readonly names: readonly Blockchain[]
  has(name: string): name is Blockchain
  /** Returns whether the coins of a blockchain have value. Coins of embedded chains and test networks have none. */
  hasValue(blockchain: Blockchain): boolean
  /**
   * Returns the factory address of a blockchain. For an embedded chain, the address is known before the factory is
   * deployed. The first call for an embedded chain records the chain in the database. Rejects for a network that isn't
   * set up.
   */
  getFactoryAddress(db: Db, blockchain: EvmBlockchain): Promise<Hex>
  /** Returns the network of a blockchain. Starts the node of an embedded chain if it isn't running yet. */
  network(blockchain: EvmBlockchain): Promise<EvmNetwork>
  /**
   * Returns whether this process serves a blockchain. Outside a cluster, the process serves all blockchains. In a
   * cluster, every process serves networks with an RPC URL, and one process serves the embedded chains.
   */
  serves(blockchain: Blockchain): boolean
  /** Sets whether this process runs the embedded chains. */
  setRunsEmbedded(owned: boolean): Promise<void>
  /** Returns the URL of a transaction on the block explorer; null if none is configured. */
  transactionUrl(blockchain: Blockchain, hash: string): string | null
  /** Registers a listener for new blocks on embedded EVM chains; `listener` must not throw. */
  onBlocks(listener: (blockchain: EvmBlockchain) => void): void
  close(): Promise<void>
}

export interface ChainsOptions {
  db: Db
  /**
   * The database of a cluster; null or absent on SQLite. In a cluster, another process runs the embedded chains until
   * `setRunsEmbedded` is called.
   */
  postgresStore?: SecretLocation['store']
  /** The blockchains that this process serves. Default: all. */
  only?: ReadonlySet<Blockchain> | undefined
  dataDir: string
  signers: LazySigners
  remote: RemoteChains
  clusters?: RemoteClusters | undefined
  now: () => number
  onEvent: (blockchain: Blockchain, event: EmbeddedChainEvent | EmbeddedSolanaEvent) => void
  /** Wraps each network that the backend uses. */
  wrapNetwork?: (network: EvmNetwork) => EvmNetwork
}

/** Thrown for an embedded chain that another process of the cluster runs. */
export class RunsInOtherProcessError extends GdnError {
  constructor(blockchain: Blockchain) {
    super('unreachable', `another process that uses this database runs the embedded chain ${blockchain}`, {
      hint: 'Send the request to that process, or configure an RPC URL that every process can reach.',
    })
  }
}

const keepNetwork = (network: EvmNetwork) => network

/** Opens the chains. Terminates the nodes that a killed backend of this data directory left running. */
export async function openChains(options: ChainsOptions): Promise<Chains> {
  const { postgresStore = null, only, dataDir, signers, remote, clusters = NO_CLUSTERS } = options
  const { wrapNetwork = keepNetwork } = options
  const stateDir = join(dataDir, 'chains')
  const closing = new AbortController()
  const names = listBlockchains(remote, only)
  let owned = postgresStore === null
  if (owned) await endOrphans(stateDir)
  const refuseUnlessOurs = (blockchain: Blockchain) => {
    if (owned) return
    throw new RunsInOtherProcessError(blockchain)
  }
  const solana = createSolanaChains({ ...options, store: postgresStore, refuseUnlessOurs, clusters })
  const embedded = createEmbeddedChains({ ...options, stateDir, signal: closing.signal })

  const network = async (blockchain: EvmBlockchain) => {
    if (closing.signal.aborted) throw new Error('the backend is shutting down')
    if (remote.has(blockchain)) return wrapNetwork(remote.network(blockchain))
    refuseUnlessOurs(blockchain)
    return wrapNetwork(await embedded.running(blockchain))
  }

  return {
    ...getConfiguredMembers(remote, clusters),
    solana,
    remote,
    names,
    has: (name): name is Blockchain => names.some((blockchain) => blockchain === name),

    async getFactoryAddress(on, blockchain) {
      if (remote.has(blockchain)) return await remote.getFactoryAddress(on, blockchain)
      return (await embedded.remember(on, blockchain)).factory_address as Hex
    },

    network,

    async signing(blockchain) {
      if (remote.has(blockchain)) return await remote.signing(blockchain)
      const { chainId, publicNetwork } = await network(blockchain)
      return { chainId, signers: await signers(), fees: (await publicNetwork?.suggestFees()) ?? EMBEDDED_FEES }
    },

    findSigner: async (blockchain, address) =>
      remote.has(blockchain)
        ? await remote.findSigner(blockchain, address)
        : findSignerByAddress(await signers(), address),

    serves(blockchain) {
      if (only !== undefined && !only.has(blockchain)) return false
      return owned || (isEvm(blockchain) ? remote.has(blockchain) : clusters.has(blockchain))
    },

    async setRunsEmbedded(isOwner) {
      if (isOwner) await endOrphans(stateDir)
      owned = isOwner
      if (!isOwner) await Promise.allSettled([...embedded.pause(), solana.pause()])
    },

    onBlocks: embedded.onBlocks,

    async close() {
      closing.abort()
      await Promise.allSettled([...embedded.close(), solana.close(), remote.close()])
    },
  }
}

/** Returns the members of `Chains` that depend only on the configuration. */
function getConfiguredMembers(
  remote: RemoteChains,
  clusters: RemoteClusters,
): Pick<Chains, 'embedded' | 'hasValue' | 'transactionUrl'> {
  return {
    embedded: remote.blockchains.length === 0 && clusters.blockchains.length === 0,

    hasValue: (blockchain) =>
      isEvm(blockchain)
        ? remote.has(blockchain) && remote.hasValue(blockchain)
        : clusters.has(blockchain) && clusters.hasValue(blockchain),

    transactionUrl(blockchain, hash) {
      const blockExplorer = isEvm(blockchain)
        ? remote.blockExplorerUrl(blockchain)
        : clusters.blockExplorerUrl(blockchain)
      return blockExplorer === null ? null : transactionUrl(blockExplorer, hash)
    },
  }
}

/** @throws GdnError if `only` has a name that isn't a blockchain of the backend */
function listBlockchains(remote: RemoteChains, only: ChainsOptions['only']): readonly Blockchain[] {
  const names: readonly Blockchain[] = [
    ...KNOWN_NAMES,
    ...remote.blockchains.filter((name) => !isKnownBlockchain(name)),
  ]
  for (const name of only ?? []) {
    if (names.includes(name)) continue
    throw new GdnError('invalid_config', `${name} is not a blockchain of this backend`, { hint: blockchainHint(name) })
  }
  return names
}
