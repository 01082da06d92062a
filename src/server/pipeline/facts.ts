import type { Blockchain } from '../../api/blockchains.ts'
import type { CollectionSettings } from '../../api/endpoints/getcollectionsettings.ts'
import type { CurrentFees, MaxCostFees, RunBudget } from '../chain/fees.ts'
import type { Shortage } from '../chain/missing-funds.ts'
import type { CollectionRow, NewCollection } from '../store/collections.ts'
import type { Store } from '../store/open-store.ts'
import type { CostLimitedRun, LimitedRun } from '../store/run-costs.ts'
import type { Db } from '../store/schema.ts'

/**
 * Reads a blockchain's state and rules for the services. There is one implementation for EVM chains and one for Solana.
 */
export interface ChainFacts {
  /**
   * Returns the addresses of a new collection and its factory. On Solana, the factory address is the signer's address.
   */
  predictAddresses(
    db: Db,
    collection: NewCollection,
  ): Promise<Pick<CollectionRow, 'factory_address' | 'contract_address'>>
  /** Returns the rights that the collection's owner grants to the service. */
  readState(collection: CollectionRow): Promise<CollectionState>
  /** Returns the lifecycle of a collection's tokens, such as whether they can be burned. */
  readLifecycle(collection: CollectionRow): Promise<Lifecycle>
  /** Returns the owner of a token. On Solana, returns `wallet` if it owns the token, otherwise null. */
  readOwner(collection: CollectionRow, tokenId: string, wallet: string): Promise<string | null>
  readToken(collection: CollectionRow, token: { tokenId: string; isDynamic: boolean }): Promise<TokenState>
  /**
   * Returns whether the database has all tokens of a collection. Absent if a follower finds missing tokens in the
   * chain's events.
   */
  hasAllTokens?(store: Store, collection: CollectionRow): Promise<boolean>
  /** Returns the time of a block in milliseconds. Returns null if no node has the block, and for embedded chains. */
  readBlockTime(block: number): Promise<number | null>
  /**
   * Returns the number of seconds that the newest blocks took until finality. Returns null for chains without reorgs.
   */
  readFinalitySeconds?(): Promise<number | null>
  /** Reads the settings of a collection's contract. Absent if collections have no contract. */
  readonly contract?: ContractFacts
  /**
   * Estimates fees and checks limits. Absent if fees are fixed, because then nothing is estimated and runs have no
   * limits.
   */
  readonly gas?: GasFacts
}

export interface CollectionState {
  /** Whether the owner has permanently revoked all rights of the service. */
  revoked: boolean
  enableApi: boolean
  enableTransfer: boolean
  locked: boolean
}

export interface Lifecycle {
  /** Whether the owner has permanently frozen the metadata of all tokens. */
  isFrozen: boolean
  enableBurn: boolean
  hasUpdatesLeft: boolean
}

export interface TokenState {
  /** Number of the token's last update; 0 if there is none. */
  revision: number
  isDynamic: boolean
  isFrozen: boolean
  isBurned: boolean
}

export interface ContractFacts {
  /** Returns the settings of a contract, with the metadata URI as the contract returns it. */
  readSettings(address: string): Promise<ContractSettings>
  readMetadataUri(address: string): Promise<string>
}

type ContractSettings = Pick<
  CollectionSettings,
  | ('wallet_address' | 'pending_wallet_address' | 'enable_api' | 'enable_transfer' | 'is_frozen')
  | ('royalty_bps' | 'royalty_receiver' | 'max_supply')
> & { contract_uri: string }

export interface GasFacts {
  readonly blockchain: Blockchain
  /** Whether the chain is embedded. Fees on embedded chains are paid in coins without value. */
  readonly isSimulated: boolean
  /** Returns the symbol of the coin that pays for gas; null if it isn't known. */
  readCoin(): Promise<string | null>
  /** Returns the current fees and the maximum gas price. */
  readFees(): Promise<CurrentFees & { max: bigint }>
  /** Returns the signer with the most funds as of the last check; null if none is known. */
  findBestFundedSigner(): { address: string; balance: bigint; owed: bigint } | null
  /** Returns the funds that the signers lack for all accepted requests; null if they lack none. */
  findShortage(): Promise<Shortage | null>
  /** Returns the maximum gas and bytes that each NFT can use, if one request mints `count` NFTs to one receiver. */
  maxPerNft(nfts: { count: number; isGrant: boolean; isDynamic: boolean }): { gas: number; bytes: number }
  /** Returns the maximum cost of `count` NFTs of a run. */
  computeMaxCostOfNfts(run: CostLimitedRun, count: number, fees: MaxCostFees): bigint
  /** Returns the budget of a run. Lock the run first if the result determines whether a request is accepted. */
  readBudget(db: Db, run: CostLimitedRun, fees: MaxCostFees): Promise<RunBudget>
  /** Returns why the next NFTs and changes of a run can't be signed at current fees; null if they can. */
  findPriceWaitReason(db: Db, run: LimitedRun, current: CurrentFees): Promise<string | null>
  /**
   * Returns the signed transactions that can't be replaced because of a run's limit, with the reason. Returns null if
   * there are none.
   */
  findStuckRun(db: Db, run: LimitedRun, current: CurrentFees): Promise<StuckRun | null>
  /**
   * Returns the number of blocks until a block is final, at least 1; null on embedded chains, whose blocks are final
   * immediately.
   */
  countBlocksUntilFinal(block: number): Promise<number | null>
}

/** A run with a stuck transaction: the run's limit doesn't allow the higher fees that the transaction needs. */
export interface StuckRun {
  reason: string
  /** The stuck transaction, and the transactions that wait for its nonce. */
  transactions: ReadonlySet<string>
}
