import type { SolanaBlockchain } from '../../../api/blockchains.ts'
import type { SolanaChains } from '../../chain/solana/solana-chains.ts'
import type { Log } from '../../log.ts'
import type { Store } from '../../store/open-store.ts'

/** What every step of a Solana blockchain works with. */
export interface SolanaStepOptions {
  store: Store
  solana: Pick<SolanaChains, 'signer' | 'network' | 'affordable'>
  blockchain: SolanaBlockchain
  now: () => number
  log: Log
  /** Blockchains that this process works on; by default all. */
  serves?: (blockchain: SolanaBlockchain) => boolean
}

/** A step that signs tells that something is to be sent. */
export interface SolanaSigningOptions extends SolanaStepOptions {
  onSigned: () => void
}
