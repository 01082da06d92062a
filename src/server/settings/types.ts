import type { EvmBlockchain, SolanaBlockchain } from '../../api/blockchains.ts'
import type { ApiVersion } from '../../api/versions.ts'
import type { RemoteSignerEntry, SignerEntry } from './signer-schema.ts'
import type { SolanaSignerEntry } from './solana-schema.ts'
import type { PinningEntry, StorageEntry } from './storage-schema.ts'

/** A network that the backend reaches by RPC URL. */
export interface ChainSettings {
  blockchain: EvmBlockchain
  chainId: number
  /** URLs of the network's nodes. They may contain a provider's key, so messages show only the host. */
  rpcUrls: readonly string[]
  /** Maximum number of requests per second, for each URL that has a limit. */
  requestLimits: ReadonlyMap<string, number>
  confirmations: number
  finality: number
  pollMs: number
  stuckMs: number
  /** Maximum gas price in wei. */
  feeCap: bigint
  /** Maximum number of pending mint transactions of a collection. */
  mintsInFlight: number
  blockExplorerUrl: string | null
  /** Whether the network's coins have no value. */
  isTestNetwork: boolean
  /** The operators. Paths in the entries are absolute. */
  operators: readonly SignerEntry[]
  /** The factory's admin, if its key is in a remote signer. */
  admin?: RemoteSignerEntry | undefined
}

/** A Solana cluster that the backend reaches by RPC URL. */
export interface ClusterSettings {
  blockchain: SolanaBlockchain
  /** The genesis hash in base58, which every node must return. */
  genesisHash: string
  /** URLs of the cluster's nodes. They may contain a provider's key, so messages show only the host. */
  rpcUrls: readonly string[]
  requestLimits: ReadonlyMap<string, number>
  commitment: 'finalized' | 'confirmed'
  pollMs: number
  /** Maximum price in micro-lamports for a compute unit. */
  priceCap: bigint
  blockExplorerUrl: string | null
  /** Whether the cluster's coins have no value. */
  isTestNetwork: boolean
  /** The signer. The path in the entry is absolute. */
  signer: SolanaSignerEntry
}

export type Clusters = ReadonlyMap<SolanaBlockchain, ClusterSettings>

export type NetworkSettings = ReadonlyMap<EvmBlockchain, ChainSettings>

export interface ServerSettings {
  chains: NetworkSettings
  clusters: Clusters
  /** The storage of files. Paths in the entry are absolute. */
  storage: StorageEntry
  /** The pinning service. Paths in the entry are absolute. */
  pinning: PinningEntry | null
  /** URL of the IPFS gateway, without a trailing slash. */
  ipfsGateway: string | null
  requireStoredFiles: boolean
  /** API version for keys that specify none. */
  apiVersion: ApiVersion
}
