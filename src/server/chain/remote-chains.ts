import type { Blockchain, EvmBlockchain } from '../../api/blockchains.ts'
import type { ChainSettings, Networks } from '../settings/types.ts'
import type { Db } from '../store/schema.ts'
import type { Hex } from './evm/network.ts'
import type { RemoteNetwork } from './evm/remote/remote-network.ts'
import type { Providers, RpcOutcome } from './rpc/providers.ts'
import type { Hindrance } from './rpc/watch-network.ts'
import type { AskSigning, FindSigner, Signer } from './signers.ts'

/** The networks that a backend reaches by RPC URL. */
export interface RemoteChains {
  has(blockchain: EvmBlockchain): boolean
  network(blockchain: EvmBlockchain): RemoteNetwork
  readonly signing: AskSigning
  readonly findSigner: FindSigner
  /** Where a blockchain's factory is; rejects where none was set up. */
  factory(db: Db, blockchain: EvmBlockchain): Promise<Hex>
  /** Why nothing can be signed for a blockchain now, as far as is known; null where nothing is in the way. */
  problem(blockchain: EvmBlockchain): string | null
  /**
   * Networks that can't be worked on, and why: no node answers, one is of another chain, nobody can sign. As it was seen
   * a few seconds ago; the first time it is found out.
   */
  away(): Promise<readonly ({ blockchain: EvmBlockchain } & Hindrance)[]>
  /** What was seen last of the signers' funds. */
  signers(): { blockchain: EvmBlockchain; address: string; coins: number }[]
  readonly blockchains: readonly EvmBlockchain[]
  /** The explorer where people look at a blockchain's transactions; null where the settings name none. */
  explorerUrl(blockchain: EvmBlockchain): string | null
  close(): Promise<void>
}

export interface RemoteChainsOptions {
  db: Db
  settings: Networks
  openSigners: (settings: ChainSettings) => Promise<readonly Signer[]>
  now: () => number
  /** What is known of those who answer at the URLs: others may ask them as well. */
  providers: Providers
  /** Told of each request to a provider. */
  onRequest?: (blockchain: Blockchain, host: string, outcome: RpcOutcome) => void
}
