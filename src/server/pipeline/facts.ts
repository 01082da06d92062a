import type { Blockchain } from '../../api/blockchains.ts'
import type { CollectionSettings } from '../../api/endpoints/getcollectionsettings.ts'
import type { CurrentFees, RunBudget, WorstFees } from '../chain/fees.ts'
import type { Shortage } from '../chain/missing-funds.ts'
import type { CollectionRow, NewCollection } from '../store/collections.ts'
import type { Store } from '../store/open-store.ts'
import type { CostLimitedRun, LimitedRun } from '../store/run-costs.ts'
import type { Db } from '../store/schema.ts'

/** The facts that services read from a blockchain, and its rules. There is one for EVM chains and one for Solana. */
export interface ChainFacts {
  /** Returns the addresses of a new collection and of its factory, on Solana the signer. */
  addressesFor(db: Db, collection: NewCollection): Promise<Pick<CollectionRow, 'factory_address' | 'contract_address'>>
  /** Returns what the service is allowed to do in a collection, by its owner's settings. */
  state(collection: CollectionRow): Promise<CollectionState>
  /** Returns the lifecycle of a collection's tokens, such as whether they can be burned. */
  lifecycle(collection: CollectionRow): Promise<Lifecycle>
  /** Returns the owner of a token; on Solana null if it isn't the wallet that is named. */
  ownerOf(collection: CollectionRow, tokenId: string, wallet: string): Promise<string | null>
  token(collection: CollectionRow, token: { tokenId: string; isDynamic: boolean }): Promise<TokenState>
  /**
   * Whether the database has all tokens of a collection. Absent if a follower finds them in the events of the chain.
   */
  hasAllTokens?(store: Store, collection: CollectionRow): Promise<boolean>
  /** Returns the time of a block in milliseconds; null if no node has it, and for embedded chains. */
  blockTime(block: number): Promise<number | null>
  /** Reads the settings of a collection's contract. Absent if collections have no contract. */
  readonly contract?: ContractFacts
  /** Absent if fees are fixed: they are not estimated, and runs have no limits. */
  readonly gas?: GasFacts
}

export interface CollectionState {
  /** The owner has revoked all rights of the service permanently. */
  revoked: boolean
  enableApi: boolean
  enableTransfer: boolean
  locked: boolean
}

export interface Lifecycle {
  /** No token can be updated any more. */
  frozen: boolean
  enableBurn: boolean
  hasUpdatesLeft: boolean
}

/** The metadata of a token. */
export interface TokenState {
  /** Number of its last update; 0 if there is none. */
  revision: number
  dynamic: boolean
  frozen: boolean
  burned: boolean
}

export interface ContractFacts {
  /** Returns the settings of a contract, with the URI of the metadata unchanged. */
  settings(address: string): Promise<ContractSettings>
  metadataUri(address: string): Promise<string>
}

type ContractSettings = Pick<
  CollectionSettings,
  | ('wallet_address' | 'pending_wallet_address' | 'enable_api' | 'enable_transfer' | 'is_frozen')
  | ('royalty_bps' | 'royalty_receiver')
> & { contract_uri: string }

export interface GasFacts {
  readonly blockchain: Blockchain
  /** Whether the coins of an embedded chain pay for it. */
  readonly isSimulated: boolean
  /** Returns the symbol of the coin; null if it isn't known. */
  coin(): Promise<string | null>
  /** Returns the current fees and the maximum gas price. */
  fees(): Promise<CurrentFees & { max: bigint }>
  /** Returns the signer with the most funds as of the last check; null if none is known. */
  richest(): { address: string; balance: bigint; owed: bigint } | null
  /** Returns the funds that the signers lack for all accepted requests; null if they lack none. */
  shortage(): Promise<Shortage | null>
  /** Returns the most that each of some NFTs uses, which have one receiver and one request. */
  worstOfEach(nfts: { count: number; isGrant: boolean; isDynamic: boolean }): { gas: number; bytes: number }
  /** Returns the most that so many NFTs of a run can cost. */
  worstOfNfts(run: CostLimitedRun, count: number, fees: WorstFees): bigint
  /** Returns the budget of a run. Lock the run first where the result decides what is accepted. */
  budgetOf(db: Db, run: CostLimitedRun, fees: WorstFees): Promise<RunBudget>
  /** Returns why the next NFTs and changes of a run aren't signed for at today's fees; null if they are. */
  waitingForPrice(db: Db, run: LimitedRun, current: CurrentFees): Promise<string | null>
  /** Returns the signed transactions that a run's limit holds, and why; null if there are none. */
  stuckAtLimit(db: Db, run: LimitedRun, current: CurrentFees): Promise<StuckRun | null>
  /** Returns the number of blocks until a block is final, at least 1; null if it is at once. */
  blocksUntilFinal(block: number): Promise<number | null>
}

/** A run whose transactions wait for one that is stuck, because the limit allows no higher fees. */
export interface StuckRun {
  reason: string
  /** The stuck transaction, and the transactions that wait for its nonce. */
  transactions: ReadonlySet<string>
}
