import type { ColumnType, Generated, Kysely, Transaction } from 'kysely'
import type { Blockchain, EvmBlockchain } from '../../api/blockchains.ts'
import type { OperationEndpoint } from '../../api/operation-digest.ts'
import type { ApiVersion } from '../../api/versions.ts'

/** In all tables, times are milliseconds since the epoch, flags are 0 or 1, and addresses are checksummed. */

export interface AccountsTable {
  id: string
  /** E-mail address in lower case; null for the local account. */
  email: string | null
  created_at: number
}

export interface ApiKeysTable {
  id: string
  account_id: string
  name: string
  /** The first characters of the key, which identify it. The key itself isn't stored. */
  prefix: string
  /** SHA-256 of the key in hex. */
  hash: string
  /** JSON list of the key's permissions. */
  permissions: string
  created_at: number
  expires_at: number | null
  revoked_at: number | null
  /** The API version that the key uses; null for the server's version. */
  api_version: ApiVersion | null
}

/** An accepted create request, stored with its response. */
export interface RequestsTable {
  id: string
  account_id: string
  endpoint: string
  idempotency_key: string | null
  /** SHA-256 of the request's body in hex. Empty without an Idempotency-Key. */
  body_hash: string
  /** The body of the response as JSON. */
  response: string
  accepted_at: number
  /** The run that sent the request, named by the client. */
  run: Generated<string | null>
}

/** A run. Its record is inserted with the run's first request. */
export interface RunsTable {
  account_id: string
  run: string
  /** The only collection of the run. `account_id` is the account that sent the run's first request. */
  collection_id: string
  started_at: number
  /** Maximum total cost of the run's transactions in wei, as decimal digits. Null without a limit. */
  max_cost: Generated<string | null>
  /** Maximum gas price of the run's transactions in wei, as decimal digits. Null without a limit. */
  max_fee: Generated<string | null>
  /** Maximum gas that one of the run's NFTs reserves, and maximum bytes of its call data. Null without a cost limit. */
  nft_gas: Generated<number | null>
  nft_bytes: Generated<number | null>
}

/**
 * Counts by state of 4,096 consecutive NFTs. Triggers update them. On PostgreSQL, several rows can have the same key,
 * and their sum is the count.
 */
export interface NftCountsTable {
  collection_id: string
  /** Name of the run. Empty for NFTs without a run. */
  run: string
  /** Number of the bucket: `seq >> 12`. */
  bucket: number
  files: number
  /** Number of NFTs that wait for a bundle, or are in a bundle that isn't final. */
  waiting: number
  deployed: number
  failed: number
}

/** Search terms of NFTs: see title-index.ts. */
export interface NftTermsTable {
  term: string
  seq: number
}

/** The cursor of the term index, in a single row. There is no row before the first indexing. */
export interface NftTermCursorTable {
  id: number
  next_seq: number
  /** JSON list of ranges of positions before `next_seq` that were empty, each with a time. */
  gaps: string
}

/** A column that only `src/server/state` writes, with the allowed transitions. */
export type StateColumn<Value> = ColumnType<Value, never, never>

/** The state of a row in the pipeline: its lease and its next attempt. */
interface LeasedRow {
  attempts: Generated<number>
  next_attempt_at: number
  lease_until: Generated<number>
  /** Incremented with every claim, so that a worker that lost its lease can't write. */
  generation: Generated<number>
}

/** An NFT, transfer or update that a request creates in a collection. */
interface AcceptedRow {
  seq: Generated<number>
  id: string
  request_id: string
  collection_id: string
  status: StateColumn<'initiated' | 'deployed' | 'failed'>
  error: string | null
  transaction_id: string | null
}

export type CollectionStatus = 'initiated' | 'deployed' | 'failed'

export interface CollectionsTable extends LeasedRow {
  /** The `transaction_gdn_id` of the createcollection request. */
  id: string
  account_id: string
  request_id: string
  blockchain: Blockchain
  name: string
  symbol: string
  wallet_address: string
  contract_address: string
  /** On Solana, the address of the backend's signer, from which the mint's address is derived. */
  factory_address: string
  enable_api: number
  enable_transfer: number
  is_locked: number
  /** 1 if the metadata of all tokens of the collection can be updated. */
  dynamic: Generated<number>
  /** 1 if the service may burn tokens of the collection. */
  enable_burn: Generated<number>
  /** Royalty when the collection was created, in 1/10,000 of the sale price; 0 for none. */
  royalty_bps: Generated<number>
  /** Null if there is no royalty. */
  royalty_receiver: Generated<string | null>
  /**
   * Maximum number of tokens that can ever be minted, including burned ones; null for no limit. It is text, because an
   * owner may set numbers above 2^53.
   */
  max_supply: Generated<string | null>
  /** 1 if the owner has permanently revoked all rights of the service. */
  revoked: Generated<number>
  /** 1 if the owner has permanently frozen the metadata of all tokens. */
  frozen: Generated<number>
  /** The sequence of the last update that is signed or that was examined on chain. */
  update_count: Generated<number>
  description: string | null
  image: string | null
  status: StateColumn<CollectionStatus>
  error: string | null
  /** The first token ID of the next bundle, after all signed bundles. It is text, because IDs may exceed 2^53. */
  next_token_id: string
  /** Maximum size of the next bundle. It is halved after each rejected bundle, to find the invalid NFT. */
  batch_limit: number | null
  transaction_id: string | null
}

export type NftStatus = 'initiated' | 'deployed' | 'failed'
/**
 * Step of an NFT. `files`: its files must be fetched and stored. `mint`: it waits for a bundle. `chain`: its mint is
 * signed and waits for finality. `done`: it needs no more work.
 */
export type NftStep = 'files' | 'mint' | 'chain' | 'done'

export interface NftsTable extends LeasedRow, AcceptedRow {
  /** The first owner, if the NFT is minted and transferred in one step; else null. */
  sender: string | null
  receiver: string
  /** The normalized ENS name that the request specified for `receiver`; null if there is none. */
  receiver_name: Generated<string | null>
  /** The current owner on chain; null until the NFT is deployed. */
  owner: string | null
  /** The block of the transfer that set `owner`; null if no transfer did. Events of earlier blocks are ignored. */
  owner_block: Generated<number | null>
  /** The metadata as the client sent it, in JSON. */
  metadata: string
  /** JSON object that maps file field keys to CIDs; null until the files are stored. */
  files: string | null
  step: StateColumn<NftStep>
  token_id: string | null
  metadata_url: string | null
  batch_index: number | null
  /** 1 if the NFT was created by creatednft. Its metadata can be updated even if the collection isn't dynamic. */
  dynamic: Generated<number>
  /** 1 if the metadata is permanently frozen. */
  frozen: Generated<number>
  /** The number of the NFT's last final update; 0 if there is none. */
  revision: Generated<number>
  /** The NFT's last final update; null if there is none, or if the update isn't in the database. */
  update_id: Generated<string | null>
}

export type TransactionKind = 'factory' | 'collection' | 'mint' | 'grant' | TransferKind | UpdateKind
/**
 * State of a transaction. `reverted`: it was executed without effect.
 *
 * `lost`: it can never be executed, and its work is signed again. On EVM chains, another transaction used its nonce. On
 * Solana, the transaction expired.
 *
 * `cancelled`: an empty transaction that an operator requested used its nonce, and its work has failed.
 */
export type TransactionState = 'signed' | 'final' | 'reverted' | 'lost' | 'cancelled'
/** The result of a transaction in a block. `cancelled`: the block has the empty transaction that used the nonce. */
export type MinedResult = 'success' | 'reverted' | 'cancelled'
/** The action that an operator requests for a pending transaction: higher fees, or a cancellation. */
export type TransactionAction = 'bump' | 'cancel'

/**
 * A signed transaction. Its bytes are stored before they are sent to a network, and are sent again if the outcome is
 * unknown.
 */
export interface TransactionsTable extends LeasedRow {
  id: string
  blockchain: Blockchain
  signer: string
  /** Nonce of the transaction; null on Solana. */
  nonce: number | null
  kind: TransactionKind
  /**
   * Null for a factory. Also null for transfers and updates, whose rows contain the collection. Unfinished mints of an
   * EVM collection have different first token IDs.
   */
  collection_id: string | null
  /** ID of the first token that the transaction mints on an EVM chain; else null. */
  start_id: string | null
  /** On Solana, the address of the mint that the transaction creates, which is the token ID; else null. */
  mint: Generated<string | null>
  /** Number of NFTs that the transaction mints, updates or freezes. */
  token_count: number
  /** The sequence of the update in its collection; null for other kinds. */
  update_sequence: Generated<number | null>
  /** CID of the directory with the transaction's metadata files. */
  directory: string | null
  /**
   * Signed bytes, in hex on EVM chains and in base64 on Solana. On Solana, empty if the transaction is never sent
   * again.
   */
  raw: string
  /** Hash of the transaction. On Solana, its signature. */
  hash: string
  /** On Solana, the block height after which the transaction can't be executed; else null. */
  last_valid_height: Generated<number | null>
  state: StateColumn<TransactionState>
  /** Number of the block. On Solana, the slot. */
  block_number: number | null
  block_hash: string | null
  /** Gas that the transaction used, as decimal digits; null on Solana. */
  gas_used: string | null
  /**
   * Fee that the transaction paid in its block, in wei, including the data fee, as decimal digits. Null while the
   * transaction is pending.
   */
  fee_paid: Generated<string | null>
  /**
   * The run that pays for the transaction, and the run's collection. Set if the run has a limit or the transaction
   * ended without effect.
   */
  run: Generated<string | null>
  run_collection_id: Generated<string | null>
  /**
   * The result in a block without enough confirmations, while `state` is `signed`. Null if the transaction is in no
   * block.
   */
  mined: Generated<MinedResult | null>
  /** On Solana, the error if the transaction failed; else null. */
  error: Generated<string | null>
  created_at: number
  /** 1 while a reorg can still remove the transaction's block. */
  watched: Generated<number>
  /** 1 after a reorg removed the transaction's block. */
  returned: Generated<number>
  requested_action: Generated<TransactionAction | null>
}

/**
 * A signed version of a transaction that was signed more than once, with the same nonce and higher fees. Any version
 * may be mined.
 */
export interface TransactionAttemptsTable {
  transaction_id: string
  /** Number of the signed version, starting at 0. */
  number: number
  raw: string
  hash: string
  /** Maximum gas price in wei, as decimal digits. */
  max_fee_per_gas: string
  max_priority_fee_per_gas: string
  created_at: number
  /** One of the values of `CANCELS` in `attempts.ts`. */
  cancels: Generated<number>
}

export type TransferStatus = 'initiated' | 'deployed' | 'failed'
/** Kind of a transfer. The receiver of a `burn` is the zero address. */
export type TransferKind = 'transfer' | 'burn'

/** A transfer or burn of an NFT. Its ID is the `transaction_gdn_id` of the transfernft or burnnft request. */
export interface TransfersTable extends AcceptedRow {
  kind: Generated<TransferKind>
  nft_id: string
  blockchain: Blockchain
  sender: string
  receiver: string
  /** The normalized ENS name that the request specified for `receiver`; null if there is none. */
  receiver_name: Generated<string | null>
  /** 1 after a reorg removed the block of its transaction. */
  returned: Generated<number>
}

export type UpdateStatus = 'initiated' | 'deployed' | 'failed'
/**
 * Step of an update. `files`: its files must be fetched and stored. `sign`: it waits for a transaction. `chain`: it is
 * signed and waits for finality. `done`: it needs no more work.
 */
export type UpdateStep = 'files' | 'sign' | 'chain' | 'done'
/** Kind of an update. `provenance` commits the collection to a hash, without an NFT. */
export type UpdateKind = 'update' | 'freeze' | 'provenance'

/**
 * An update or a freeze of an NFT's metadata, or a commitment to a provenance hash. Its ID is the `transaction_gdn_id`
 * of the updatednft, freezenft or commitprovenance request. A freeze has a row for each NFT.
 */
export interface UpdatesTable extends LeasedRow, AcceptedRow {
  /** ID of the NFT; null for a commitment. */
  nft_id: string | null
  blockchain: Blockchain
  kind: UpdateKind
  /**
   * The metadata as the client sent it, in JSON; an empty object for a freeze. For a commitment, the hash: 0x and 64
   * hex digits.
   */
  metadata: string
  /**
   * JSON object that maps file field keys to CIDs; null until the files are stored. For a commitment, its
   * `CommitmentTerms` or null.
   */
  files: string | null
  step: StateColumn<UpdateStep>
  /**
   * The sequence of the update's transaction, set when the transaction is final. Always null for freezes and
   * commitments.
   */
  revision: number | null
  /** The client's reference ID; null if there is none. */
  reference_id: string | null
  /** For a final commitment, the ID of the next token at the time of the commitment; else null. */
  first_token_id: Generated<string | null>
  /** 1 after a reorg removed the block of its transaction. */
  returned: Generated<number>
}

/**
 * The operation of a client's reference ID. The operation never changes, except that a failed operation without effect
 * may be replaced.
 */
export interface OperationReferencesTable {
  /** ID of the collection. For createcollection, ID of the account. */
  scope_id: string
  operation: OperationEndpoint
  reference_id: string
  /** Digest of the operation, which includes the version of the digest's definition. */
  digest: string
  /** ID of the NFT, transfer, update or collection. */
  target_id: string
  /** The label that the client sent with the reference ID. A request with a different label is rejected. */
  label: string | null
  /**
   * Whether the reference ID was derived from the ID of the client's row, or from the row's content. Null if the client
   * doesn't state it.
   */
  kind: 'id' | 'content' | null
  /** The reference ID that the NFT got when its row got an ID after the mint. Set only if `kind` is `content`. */
  alias: string | null
}

export type OwnerEventKind =
  | 'transfer'
  | 'owner'
  | 'enable_api'
  | 'enable_transfer'
  | 'revoked'
  | 'frozen'
  | 'max_supply'

/**
 * A change on chain with the previous value, so that the change can be rolled back. Flags are '0' or '1'. For
 * `max_supply`, '0' means no limit.
 */
export interface OwnerEventsTable {
  blockchain: Blockchain
  block_number: number
  log_index: number
  transaction_hash: string
  collection_id: string
  kind: OwnerEventKind
  /** Token ID of a transfer; else null. */
  token_id: string | null
  previous: string
  next: string
}

/**
 * Cursors of the reader of a chain's events. The newest row applies. After a reorg, the reader falls back to an older
 * row.
 */
export interface OwnerCursorsTable {
  blockchain: EvmBlockchain
  block_number: number
  block_hash: string
}

/** The next nonce of each signer. */
export interface SignerNoncesTable {
  blockchain: Blockchain
  signer: string
  next_nonce: number
}

export interface ChainsTable {
  blockchain: Blockchain
  /** Kind of a chain. `embedded`: gdn runs the chain. `remote`: a network that gdn uses through RPC URLs. */
  network: Generated<'embedded' | 'remote'>
  /** Chain ID of a public network; null for an embedded chain, and on Solana. */
  chain_id: Generated<number | null>
  /** Genesis hash of a public Solana cluster, base58; else null. */
  genesis_hash: Generated<string | null>
  /** Unix time in seconds; 0 for a public network. */
  genesis_timestamp: number
  /** On Solana, the address of the backend's signer. */
  factory_address: string
  created_at: number
  /**
   * The first block of a public network that can have transactions of this backend. Null until there are such
   * transactions.
   */
  start_block: Generated<number | null>
  /**
   * The newest block of a public network when gdn found used nonces that this database lacks. Until events are read up
   * to this block, the database lags behind the chain. Null if gdn never found such nonces.
   */
  behind_until: Generated<number | null>
  /** The process that tracks the owners on a public network, and the time when its lease ends. */
  follower: Generated<string | null>
  follower_until: Generated<number>
}

/**
 * A block of an embedded chain. `transactions` contains raw transactions, one per line. On Solana, `number` is the
 * slot.
 */
export interface ChainBlocksTable {
  blockchain: Blockchain
  number: number
  /** Unix time in seconds. */
  timestamp: number
  transactions: string
  hash: string | null
}

/** Small content-addressed blocks: metadata, directories and small files. */
export interface BlocksTable {
  cid: string
  bytes: Uint8Array
}

/** A file stored outside the data directory. */
export interface StoredFilesTable {
  /** The remote storage location, such as `s3://bucket/prefix` or `ipfs`. */
  place: string
  cid: string
  size: number
}

/** Target of a publication. `node`: an IPFS node. `pins`: a pinning service. */
export type PublishTarget = 'node' | 'pins'

/** State of a publication. `asked`: the pinning service is processing it. */
export type PublicationState = 'waiting' | 'asked' | 'done'

/** Content to publish. The state is `done` when the content is published. */
export interface PublicationsTable extends LeasedRow {
  target: PublishTarget
  cid: string
  state: Generated<PublicationState>
  /** The pinning service's ID for the request. */
  reference: Generated<string | null>
}

/** A used single-use signed URL, stored until it is long expired. */
export interface UsedSignedUrlsTable {
  /** SHA-256 of the URL's signature in hex. */
  signature_hash: string
  expires_at: number
}

/** Secrets that a cluster shares. A single process stores them in files of its data directory. */
export interface SecretsTable {
  name: string
  value: string
}

/** The requests in the current one-second window of a rate limit. */
export interface RateWindowsTable {
  name: string
  count: number
  ends_at: number
}

/**
 * State of an unknown mint. `found`: it wasn't examined yet. `unexplained`: no pending row explains its tokens, and the
 * collection mints nothing until an operator releases the mint. `released`: the operator released it, and minting
 * continues after its tokens.
 */
export type UnknownMintState = 'found' | 'unexplained' | 'released'

/** A mint on chain that belongs to no transaction in this database. On Solana, the unknown members of a group. */
export interface UnknownMintsTable {
  collection_id: string
  /** Hash of the transaction. On Solana, the group's address and a time in milliseconds. */
  hash: string
  blockchain: Blockchain
  block_number: number
  start_id: string
  token_count: number
  state: UnknownMintState
  /** The signer of the transaction, and the CID of its metadata directory. Null until the mint is examined. */
  signer: string | null
  directory: string | null
  /** The reason why no pending row explains the mint. */
  reason: string | null
  found_at: number
}

/** A token in an on-chain update that the database doesn't have. */
export interface UnknownUpdatesTable {
  collection_id: string
  token_id: string
  /** The sequence of the update in its collection. */
  sequence: number
  blockchain: Blockchain
  block_number: number
  transaction_hash: string
}

export type WebhookStatus = 'active' | 'disabled'

/** A subscriber to an account's events. */
export interface WebhooksTable {
  id: string
  account_id: string
  /** Kind of a subscriber. `url`: the backend posts events to it. `listener`: a temporary reader of the database. */
  kind: 'url' | 'listener'
  url: string
  /** JSON list of event types; `*` stands for all. */
  events: string
  /** The full secret, which signs the deliveries. */
  secret: string
  status: WebhookStatus
  created_at: number
  /** Time after which no events are written for a listener, unless the time is extended. Null for a webhook. */
  expires_at: number | null
  /** Number of attempts since the last success. */
  failures: Generated<number>
  failing_since: number | null
  /** The earliest time of the next delivery. */
  next_attempt_at: Generated<number>
  /** The end of the lease of the process that sends to the webhook. */
  lease_until: Generated<number>
  generation: Generated<number>
}

export interface WebhookEventsTable {
  /** ID with the prefix `evt_`. IDs ascend with time. */
  id: string
  type: string
  /** The exact bytes that are posted. */
  body: string
  created_at: number
}

export type DeliveryState = 'waiting' | 'delivered' | 'failed'

/** A delivery of an event to one webhook. */
export interface WebhookDeliveriesTable {
  webhook_id: string
  event_id: string
  state: DeliveryState
  attempts: Generated<number>
  next_attempt_at: Generated<number>
  /** Time after which the delivery isn't retried. Null before the first attempt. */
  give_up_at: number | null
  /** Result of the last attempt: the HTTP status and the beginning of the response, or the error. */
  response_status: number | null
  response: string | null
  error: string | null
  attempted_at: number | null
}

/** The identity of the backend, in a single row. */
export interface BackendTable {
  /** Key of the single row: always 1. */
  one: number
  /** A UUID that doesn't change when the data is moved. */
  id: string
  /** A UUID that changes after an import or a copy of the data, because accepted requests may then be missing. */
  incarnation: string
}

export interface Schema {
  backend: BackendTable
  accounts: AccountsTable
  api_keys: ApiKeysTable
  requests: RequestsTable
  runs: RunsTable
  collections: CollectionsTable
  nfts: NftsTable
  nft_counts: NftCountsTable
  nft_terms: NftTermsTable
  nft_term_cursor: NftTermCursorTable
  transactions: TransactionsTable
  transaction_attempts: TransactionAttemptsTable
  transfers: TransfersTable
  updates: UpdatesTable
  operation_references: OperationReferencesTable
  owner_events: OwnerEventsTable
  owner_cursors: OwnerCursorsTable
  unknown_mints: UnknownMintsTable
  unknown_updates: UnknownUpdatesTable
  signer_nonces: SignerNoncesTable
  chains: ChainsTable
  chain_blocks: ChainBlocksTable
  blocks: BlocksTable
  stored_files: StoredFilesTable
  publications: PublicationsTable
  used_signed_urls: UsedSignedUrlsTable
  secrets: SecretsTable
  rate_windows: RateWindowsTable
  webhooks: WebhooksTable
  webhook_events: WebhookEventsTable
  webhook_deliveries: WebhookDeliveriesTable
}

/** The database, or a transaction in it. Every query function accepts both. */
export type Db = Kysely<Schema> | Transaction<Schema>
