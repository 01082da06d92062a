import type { Blockchain, SolanaBlockchain } from '../../../../api/blockchains.ts'
import { GdnError } from '../../../../core/errors.ts'
import type { Log } from '../../../log.ts'
import type { ClusterSettings, Clusters } from '../../../settings/types.ts'
import { findChain } from '../../../store/chains.ts'
import type { Db } from '../../../store/schema.ts'
import type { Providers, RpcOutcome } from '../../rpc/providers.ts'
import type { NetworkProblem } from '../../rpc/watch-network.ts'
import { watchNetworks } from '../../rpc/watch-networks.ts'
import { describeClusterShortage, readTokenCosts } from '../costs.ts'
import type { SolanaSigner } from '../solana-signer.ts'
import { createRemoteSolana, type RemoteSolana } from './remote-solana.ts'

/** The Solana clusters that a backend reaches by RPC URL. */
export interface RemoteClusters {
  has(blockchain: SolanaBlockchain): boolean
  /** Returns whether the coins of a cluster have value. */
  hasValue(blockchain: SolanaBlockchain): boolean
  readonly blockchains: readonly SolanaBlockchain[]
  network(blockchain: SolanaBlockchain): RemoteSolana
  /** Returns the signer's address, from which token addresses are derived. Rejects if the cluster isn't set up. */
  address(blockchain: SolanaBlockchain): Promise<string>
  /** Returns the signer. Rejects in a process that never signs, and if the cluster isn't set up. */
  signer(blockchain: SolanaBlockchain): Promise<SolanaSigner>
  /** Returns the number of tokens that the signer can pay for, without its pending transactions. */
  affordable(blockchain: SolanaBlockchain): Promise<number>
  /** Returns why the signer can't pay for requests, as of the last check; null if it can. */
  problem(blockchain: SolanaBlockchain): string | null
  /** Returns the clusters that can't be used, each with the reason. */
  unreachable(): Promise<readonly ({ blockchain: SolanaBlockchain } & NetworkProblem)[]>
  /** Returns the signers' balances in SOL as of the last check. */
  signerBalances(): { blockchain: SolanaBlockchain; address: string; coins: number }[]
  /** Returns the block explorer's URL of a blockchain; null if the configuration has none. */
  blockExplorerUrl(blockchain: SolanaBlockchain): string | null
  close(): Promise<void>
}

export interface RemoteClustersOptions {
  db: Db
  settings: Clusters
  /** Opens the key of a cluster's signer. Returns null in a process that never signs. */
  openSigner: (settings: ClusterSettings) => Promise<SolanaSigner | null>
  log: Log
  /**
   * The rate limits of the providers, and the pauses between requests to them, which all requests of this process
   * share.
   */
  providers: Providers
  /** Called for each request to a provider. */
  onRequest?: (blockchain: Blockchain, host: string, outcome: RpcOutcome) => void
}

const LAMPORTS_PER_SOL = 1_000_000_000

interface RemoteCluster {
  settings: ClusterSettings
  network: RemoteSolana
  /** The cluster's signer. Null in a process that never signs. */
  signer: SolanaSigner | null
  problem: string | null
  /** Balance of the signer in lamports, as of the last check. */
  balance: bigint | null
}

/** Opens the signers' keys and the connections. */
export async function openRemoteClusters(options: RemoteClustersOptions): Promise<RemoteClusters> {
  const { db, settings, openSigner, providers, onRequest } = options

  /** Signer addresses by blockchain. They are cached, because they never change. */
  const addresses = new Map<SolanaBlockchain, string>()
  const addressOn = async (blockchain: SolanaBlockchain): Promise<string> => {
    const address = addresses.get(blockchain) ?? (await findChain(db, blockchain))?.factory_address
    if (address === undefined) throw clusterNotSetUpError(blockchain)
    addresses.set(blockchain, address)
    return address
  }

  /** Reads the signer's balance and the cost of tokens, and records whether the signer can pay for requests. */
  const readFunds = async (blockchain: SolanaBlockchain, openedCluster: RemoteCluster) => {
    const address = await addressOn(blockchain)
    const costs = await readTokenCosts(openedCluster.network, await openedCluster.network.computeUnitPrice())
    const balance = await openedCluster.network.balance(address)
    openedCluster.balance = balance
    openedCluster.problem = describeClusterShortage(blockchain, address, balance, costs)
    return { balance, costs }
  }

  const open = async (blockchain: SolanaBlockchain, cluster: ClusterSettings): Promise<RemoteCluster> => {
    const network = createRemoteSolana({
      ...cluster,
      urls: cluster.rpcUrls,
      providers,
      onRequest: (host, outcome) => onRequest?.(blockchain, host, outcome),
    })
    const signer = await openSigner(cluster)
    return { settings: cluster, network, signer, problem: null, balance: null }
  }

  const opened = new Map<SolanaBlockchain, RemoteCluster>()
  for (const [blockchain, cluster] of settings) opened.set(blockchain, await open(blockchain, cluster))
  await refuseOtherSigners(options, opened)
  const get = (blockchain: SolanaBlockchain): RemoteCluster => {
    const openedCluster = opened.get(blockchain)
    if (openedCluster === undefined) throw new Error(`${blockchain} has no RPC URL`)
    return openedCluster
  }
  const watch = watchNetworks(
    [...opened].map(([blockchain, openedCluster]) => ({
      blockchain,
      problem: () => openedCluster.problem,
      async ask() {
        await readFunds(blockchain, openedCluster)
        return openedCluster.problem
      },
    })),
    options.log,
  )

  return {
    blockchains: [...opened.keys()],
    has: (blockchain) => opened.has(blockchain),
    hasValue: (blockchain) => !get(blockchain).settings.isTestNetwork,
    network: (blockchain) => get(blockchain).network,

    address: addressOn,

    async signer(blockchain) {
      const { signer } = get(blockchain)
      if (signer === null) throw new Error(`this process can't sign: it has no key for ${blockchain}`)
      const accepted = await addressOn(blockchain)
      if (accepted === signer.address) return signer
      // Another process has meanwhile set up the cluster with another signer.
      throw otherSignerError(blockchain, accepted, signer)
    },

    async affordable(blockchain) {
      const { balance, costs } = await readFunds(blockchain, get(blockchain))
      return Number(balance / costs.collection)
    },

    problem: (blockchain) => opened.get(blockchain)?.problem ?? null,
    blockExplorerUrl: (blockchain) => opened.get(blockchain)?.settings.blockExplorerUrl ?? null,

    unreachable: () => watch.unreachable(),

    signerBalances: () =>
      [...opened].flatMap(([blockchain, { balance }]) => {
        const address = addresses.get(blockchain)
        return balance === null || address === undefined
          ? []
          : [{ blockchain, address, coins: Number(balance) / LAMPORTS_PER_SOL }]
      }),

    async close() {
      watch.stop()
      await Promise.all([...opened.values()].map(({ network }) => network.close()))
    },
  }
}

/**
 * Rejects a signer other than the recorded one. Token addresses depend on the signer, so another key can't mint in an
 * existing collection.
 */
async function refuseOtherSigners(
  { db }: Pick<RemoteClustersOptions, 'db'>,
  opened: ReadonlyMap<SolanaBlockchain, RemoteCluster>,
): Promise<void> {
  for (const [blockchain, { signer }] of opened) {
    const storedAddress = (await findChain(db, blockchain))?.factory_address
    if (signer === null || storedAddress === undefined || storedAddress === signer.address) continue
    throw otherSignerError(blockchain, storedAddress, signer)
  }
}

const otherSignerError = (blockchain: SolanaBlockchain, accepted: string, { address }: SolanaSigner): GdnError =>
  new GdnError('invalid_config', `${blockchain} was set up for the signer ${accepted}, not for ${address}`, {
    hint: 'Configure the keypair that the cluster was set up with. No other keypair can mint in the existing collections.',
  })

export const clusterNotSetUpError = (blockchain: SolanaBlockchain): GdnError =>
  new GdnError('invalid_config', `${blockchain} is not set up: no signer is assigned to it`, {
    hint: `Run \`gdn chain setup ${blockchain} --dry-run\` to show what a collection and an NFT cost.`,
  })
