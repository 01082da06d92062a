import type { Blockchain, SolanaBlockchain } from '../../../api/blockchains.ts'
import type { ClusterSettings, Clusters } from '../../settings/types.ts'
import type { Db } from '../../store/schema.ts'
import type { Providers, RpcOutcome } from '../rpc/providers.ts'
import type { Hindrance } from '../rpc/watch-network.ts'
import type { RemoteSolana } from './remote/remote-solana.ts'
import type { SolanaSigner } from './signer.ts'

/** The Solana clusters that a backend reaches by RPC URL. */
export interface RemoteClusters {
  has(blockchain: SolanaBlockchain): boolean
  readonly blockchains: readonly SolanaBlockchain[]
  network(blockchain: SolanaBlockchain): RemoteSolana
  /** Of who signs, from which the addresses of tokens follow; rejects where the cluster wasn't set up. */
  address(blockchain: SolanaBlockchain): Promise<string>
  /** Rejects in a process that never signs, and where the cluster wasn't set up. */
  signer(blockchain: SolanaBlockchain): Promise<SolanaSigner>
  /** Tokens that could be paid for now, were nothing under way. */
  affordable(blockchain: SolanaBlockchain): Promise<number>
  /** Why nothing can be paid for now, as it was seen last; null where nothing is in the way. */
  problem(blockchain: SolanaBlockchain): string | null
  /** Those that can't be worked on, and why. */
  away(): Promise<readonly ({ blockchain: SolanaBlockchain } & Hindrance)[]>
  /** What was seen last of the signers' funds. */
  signers(): { blockchain: SolanaBlockchain; address: string; coins: number }[]
  /** The explorer where people look at a blockchain's transactions; null where the settings name none. */
  explorerUrl(blockchain: SolanaBlockchain): string | null
  close(): Promise<void>
}

export interface RemoteClustersOptions {
  db: Db
  settings: Clusters
  /** Null in a process that never signs. */
  openSigner: (settings: ClusterSettings) => Promise<SolanaSigner | null>
  /** What is known of those who answer at the URLs: others may ask them as well. */
  providers: Providers
  /** Told of each request to a provider. */
  onRequest?: (blockchain: Blockchain, host: string, outcome: RpcOutcome) => void
}
