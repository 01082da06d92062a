import type { SolanaBlockchain } from '../../api/blockchains.ts'
import { GdnError } from '../../core/errors.ts'
import { rejectOnAbort } from '../../core/or-aborted.ts'
import { createProviders } from '../chain/rpc/providers.ts'
import { convertRpcErrors } from '../chain/rpc/refusals.ts'
import { describeClusterShortage, inSol, minClusterFunds, readTokenCosts } from '../chain/solana/costs.ts'
import { openSolanaSigner } from '../chain/solana/open-signer.ts'
import { createRemoteSolana, type RemoteSolana } from '../chain/solana/remote/remote-solana.ts'
import type { SolanaSigner } from '../chain/solana/solana-signer.ts'
import { openDatabase } from '../open-database.ts'
import { loadServerSettings } from '../settings/settings.ts'
import { clusterName } from '../settings/solana-clusters.ts'
import type { ClusterSettings } from '../settings/types.ts'
import { findChain, recordChain } from '../store/chains.ts'
import type { Store } from '../store/open-store.ts'
import { type ChainOptions, noRpcUrlError } from './with-chain.ts'

export interface OpenedCluster {
  store: Store
  settings: ClusterSettings
  network: RemoteSolana
  signer: SolanaSigner
}

/** The current state of a configured cluster and its signer. Amounts are decimal numbers of SOL. */
export interface ClusterStatus {
  blockchain: string
  /** The cluster's name, or its genesis hash if it has none. */
  cluster: string
  genesis_hash: string
  /** Height of the newest final block. */
  block: number
  signer: string
  balance: string
  /** Balance that the backend needs to accept requests. */
  needed: string
  /**
   * Maximum cost of a token with a name of 64 letters. It consists of fees and rent, which is locked as long as the
   * token exists.
   */
  cost_per_nft: string
  cost_per_collection: string
  /** Number of NFTs that the balance pays for. */
  nfts_left: number
  /** Current price in micro-lamports for a compute unit. */
  compute_unit_price: string
  /** Whether the signer was accepted for the cluster, so that collections can be created. */
  set_up: boolean
  /** The reason why the signer can't sign; null if it can. */
  problem: string | null
  [field: string]: unknown
}

/**
 * Runs `work` with a configured cluster and the database of a data directory. The backend may be running, stopped, or
 * not started yet.
 *
 * @throws GdnError `invalid_config` if the blockchain isn't configured; any error from opening the keypair
 */
export async function withCluster<Result>(
  place: ChainOptions,
  blockchain: SolanaBlockchain,
  work: (cluster: OpenedCluster) => Promise<Result>,
): Promise<Result> {
  const { dataDir, settingsFile, credentialsDirectory, signal } = place
  const settings = (await loadServerSettings(dataDir, settingsFile)).clusters.get(blockchain)
  if (settings === undefined) throw noRpcUrlError(place, blockchain, 'signer')
  const signer = await openSolanaSigner(settings.signer, credentialsDirectory)
  const store = await rejectOnAbort(openDatabase(place, { createIfMissing: true }), signal)
  const network = createRemoteSolana({
    ...settings,
    urls: settings.rpcUrls,
    providers: createProviders(settings.requestLimits),
    signal,
  })
  try {
    return await convertRpcErrors(blockchain, () => work({ store, settings, network, signer }))
  } finally {
    await network.close()
    await store.close()
  }
}

/** Reads the state of a cluster and the cost of tokens. */
export async function clusterStatus({ store, settings, network, signer }: OpenedCluster): Promise<ClusterStatus> {
  const { blockchain, genesisHash } = settings
  const chain = await findChain(store.db, blockchain)
  // The first request fails if the node belongs to another cluster.
  const block = await network.blockHeight()
  const price = await network.computeUnitPrice()
  const [costs, balance] = await Promise.all([readTokenCosts(network, price), network.balance(signer.address)])
  return {
    blockchain,
    cluster: clusterName(genesisHash),
    genesis_hash: genesisHash,
    block,
    signer: signer.address,
    balance: inSol(balance),
    needed: inSol(minClusterFunds(costs)),
    cost_per_nft: inSol(costs.nft),
    cost_per_collection: inSol(costs.collection),
    nfts_left: Number(balance / costs.nft),
    compute_unit_price: String(price),
    set_up: chain !== null,
    problem:
      setupProblem(chain?.factory_address ?? null, signer) ??
      describeClusterShortage(blockchain, signer.address, balance, costs),
  }
}

function setupProblem(accepted: string | null, { address }: SolanaSigner): string | null {
  if (accepted === null) return 'the cluster is not set up'
  return accepted === address ? null : `the cluster was set up for another signer (${accepted})`
}

/**
 * Records the signer as accepted for the cluster. Sends no transaction, because tokens on Solana need no contract. From
 * then on, the database belongs to that cluster, and its tokens to that signer.
 *
 * @throws GdnError `invalid_config` if the database was set up for another cluster or signer
 */
export async function setUpCluster({ store, settings, signer }: OpenedCluster, now: number): Promise<void> {
  const { blockchain, genesisHash } = settings
  await recordChain(store.db, {
    blockchain,
    network: 'remote',
    genesis_hash: genesisHash,
    genesis_timestamp: 0,
    factory_address: signer.address,
    created_at: now,
  })
  const chain = await findChain(store.db, blockchain)
  if (chain?.network === 'remote' && chain.genesis_hash === genesisHash && chain.factory_address === signer.address) {
    return
  }
  const storedAs =
    chain?.network === 'embedded'
      ? 'an embedded chain'
      : `the cluster ${clusterName(chain?.genesis_hash ?? '')} with the signer ${chain?.factory_address}`
  throw new GdnError('invalid_config', `the database has ${blockchain} as ${storedAs}`, {
    hint: 'Use another data directory, or the configuration of this directory.',
  })
}
