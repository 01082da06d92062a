import type { ColumnType, Generated, Kysely, Transaction } from 'kysely'
import type { EvmBlockchain } from '../../api/blockchains.ts'
import type { Operation } from '../../api/operation-digest.ts'
import type { ApiVersion } from '../../api/versions.ts'

/** Times are milliseconds since the epoch; flags are 0 or 1; addresses are checksummed. */

export interface AccountsTable {
  id: string
  /** In lower case; null for the local account. */
  email: string | null
  created_at: number
}

export interface ApiKeysTable {
  id: string
  account_id: string
  name: string
  /** The first characters of the key, to identify it; the key itself isn't stored. */
  prefix: string
  /** SHA-256 of the key, hex. */
  hash: string
  /** JSON list of permissions. */
  permissions: string
  created_at: number
  expires_at: number | null
  revoked_at: number | null
  /** The version of the API that it is for; null for that of the server. */
  api_version: ApiVersion | null
}

/** An accepted creating request, stored with its response. */
export interface RequestsTable {
  id: string
  account_id: string
  endpoint: string
  idempotency_key: string | null
  /** SHA-256 of the body, hex. */
  body_hash: string
  /** The body of the response, JSON. */
  response: string
  accepted_at: number
  /** The run that sent it, named by the client. */
  run: Generated<string | null>
}

/** A run, inserted with its first request. */
export interface RunsTable {
  account_id: string
  run: string
  /** The account of its first request. */
  collection_id: string
  started_at: number
  /** The most that its transactions may cost together: wei, as decimal digits. Null without a limit. */
  max_cost: Generated<string | null>
  /** Maximum gas price of its transactions: wei, as decimal digits. Null without a limit. */
  max_fee: Generated<string | null>
  /** With a limit: the most gas that one of its NFTs reserves, and the bytes of its call data. */
  nft_gas: Generated<number | null>
  nft_bytes: Generated<number | null>
}

/** Counts by state of 4,096 consecutive NFTs. Triggers write them; on PostgreSQL, rows have to be added up. */
export interface NftCountsTable {
  collection_id: string
  /** Empty for NFTs without a run. */
  run: string
  /** `seq >> 12` */
  bucket: number
  files: number
  /** Waiting for a bundle, or in one that isn't final. */
  waiting: number
  deployed: number
  failed: number
}

/** Search terms of NFTs: see title-index.ts. */
export interface NftTermsTable {
  term: string
  seq: number
}

/** The cursor of the term index: one row, or none at first. */
export interface NftTermCursorTable {
  id: number
  next_seq: number
  /** JSON: ranges of positions before it that were empty, and since when. */
  gaps: string
}

/** A column that only `src/server/state` writes, with the allowed transitions. */
export type State<Value> = ColumnType<Value, never, never>

/** The state of a row in the pipeline: its lease and its next attempt. */
interface Work {
  attempts: Generated<number>
  next_attempt_at: number
  lease_until: Generated<number>
  /** Incremented with every claim, so that a worker that lost its lease can't write. */
  generation: Generated<number>
}

export type CollectionStatus = 'initiated' | 'deployed' | 'failed'

export interface CollectionsTable extends Work {
  /** The transaction_gdn_id of createcollection. */
  id: string
  account_id: string
  request_id: string
  blockchain: string
  name: string
  symbol: string
  wallet_address: string
  contract_address: string
  /** On Solana the service's own address, from which the mint's address is derived. */
  factory_address: string
  enable_api: number
  enable_transfer: number
  is_locked: number
  /** The metadata of all its tokens can be updated. */
  dynamic: Generated<number>
  /** The service may burn its tokens. */
  enable_burn: Generated<number>
  /** Royalty in parts of 10,000 of the sale price at its creation; 0 for none. */
  royalty_bps: Generated<number>
  /** Null if there is no royalty. */
  royalty_receiver: Generated<string | null>
  /** The owner has revoked all rights of the service permanently. */
  revoked: Generated<number>
  /** The owner has frozen the metadata of all its tokens permanently. */
  frozen: Generated<number>
  /** The sequence of the last update that is signed, or was examined on chain. */
  update_count: Generated<number>
  description: string | null
  image: string | null
  status: State<CollectionStatus>
  error: string | null
  /** The first token ID of the next bundle, as signed so far. Text, because IDs may exceed 2^53. */
  next_token_id: string
  /** Maximum size of the next bundle: halved after each rejected bundle, to find the invalid NFT. */
  batch_limit: number | null
  transaction_id: string | null
}

export type NftStatus = 'initiated' | 'deployed' | 'failed'
/** files: fetch and store them · mint: wait for a bundle · chain: signed, waiting for finality · done */
export type NftStep = 'files' | 'mint' | 'chain' | 'done'

export interface NftsTable extends Work {
  seq: Generated<number>
  id: string
  request_id: string
  collection_id: string
  /** The first owner, if the NFT is minted and transferred in one step; else null. */
  sender: string | null
  receiver: string
  /** The current owner on chain; null until the NFT is deployed. */
  owner: string | null
  /** The block of the transfer that set `owner`; null if no transfer did. Events of earlier blocks are ignored. */
  owner_block: Generated<number | null>
  /** The metadata as sent, JSON. */
  metadata: string
  /** JSON object: file field key to CID, once the files are stored. */
  files: string | null
  status: State<NftStatus>
  step: State<NftStep>
  error: string | null
  token_id: string | null
  metadata_url: string | null
  transaction_id: string | null
  batch_index: number | null
  /**
   * Whether the NFT was created by creatednft. Its metadata can be updated, even in a collection that isn't dynamic.
   */
  dynamic: Generated<number>
  /** Whether the metadata is final. */
  frozen: Generated<number>
  /** The number of the NFT's last final update; 0 if it has none. */
  revision: Generated<number>
  /** The NFT's last final update. Null if it has none, or if the database doesn't have it. */
  update_id: Generated<string | null>
}

export type TransactionKind = 'factory' | 'collection' | 'mint' | 'grant' | TransferKind | UpdateKind
/**
 * reverted: executed without effect.
 * lost: it can never be executed, and its work is signed for again. On EVM chains another transaction used its nonce,
 * on Solana it expired.
 * cancelled: an operator had an empty transaction use its nonce; its work has failed.
 */
export type TransactionState = 'signed' | 'final' | 'reverted' | 'lost' | 'cancelled'
/** The result of a transaction in a block. cancelled: the block has the empty transaction that took its nonce. */
export type MinedResult = 'success' | 'reverted' | 'cancelled'
/** The request of an operator for a pending transaction: higher fees, or a cancellation. */
export type TransactionAction = 'bump' | 'cancel'

/**
 * A signed transaction. Its bytes are stored before any network sees them, and the same bytes are sent again in doubt.
 */
export interface TransactionsTable extends Work {
  id: string
  blockchain: string
  signer: string
  /** Null on Solana. */
  nonce: number | null
  kind: TransactionKind
  /**
   * Null for a factory, and for transfers and updates, whose rows have it. Unfinished transactions of an EVM collection
   * have different token IDs.
   */
  collection_id: string | null
  /** ID of the first token that it mints on an EVM chain; else null. */
  start_id: string | null
  /** On Solana the address of the mint that it creates, which is the ID of the token; else null. */
  mint: Generated<string | null>
  /** Number of NFTs that it mints or updates. */
  token_count: number
  /** The number of the update in its collection; null for anything else. */
  update_sequence: Generated<number | null>
  /** CID of the directory of its metadata files. */
  directory: string | null
  /** Hexadecimal, on Solana base64. Empty if it is not sent again. */
  raw: string
  /** On Solana the signature. */
  hash: string
  /** On Solana the block height after which it can't be executed; else null. */
  last_valid_height: Generated<number | null>
  state: State<TransactionState>
  /** On Solana the slot. */
  block_number: number | null
  block_hash: string | null
  /** Decimal digits; null on Solana. */
  gas_used: string | null
  /** Fee that it paid in a block, including the fee for its data: wei, as decimal digits. Null while it is pending. */
  fee_paid: Generated<string | null>
  /** The run that pays for it and its collection, if the run has a limit or the transaction ended without effect. */
  run: Generated<string | null>
  run_collection_id: Generated<string | null>
  /** While it is signed: its result in a block that isn't deep enough yet; null if it waits for a block. */
  mined: Generated<MinedResult | null>
  /** On Solana the error if it failed; else null. */
  error: Generated<string | null>
  created_at: number
  /** 1 while a reorg may still remove its block. */
  watched: Generated<number>
  /** 1 after a reorg removed its block. */
  returned: Generated<number>
  requested_action: Generated<TransactionAction | null>
}

/**
 * Each signing of a transaction that was signed more than once, with the same nonce and higher fees. Any may be mined.
 */
export interface TransactionAttemptsTable {
  transaction_id: string
  /** Starts at 0. */
  number: number
  raw: string
  hash: string
  /** Wei, decimal digits. */
  max_fee_per_gas: string
  max_priority_fee_per_gas: string
  created_at: number
  /** One of `CANCELS` of `attempts.ts`. */
  cancels: Generated<number>
}

export type TransferStatus = 'initiated' | 'deployed' | 'failed'
/** burn: the receiver is the zero address */
export type TransferKind = 'transfer' | 'burn'

/** A transfer of an NFT. */
export interface TransfersTable {
  seq: Generated<number>
  /** The transaction_gdn_id of transfernft or burnnft. */
  id: string
  kind: Generated<TransferKind>
  request_id: string
  collection_id: string
  nft_id: string
  blockchain: string
  sender: string
  receiver: string
  status: State<TransferStatus>
  error: string | null
  transaction_id: string | null
  /** 1 after a reorg removed its block. */
  returned: Generated<number>
}

export type UpdateStatus = 'initiated' | 'deployed' | 'failed'
/** files: fetch and store them · sign: wait for a bundle · chain: signed, waiting for finality · done */
export type UpdateStep = 'files' | 'sign' | 'chain' | 'done'
/** provenance: the collection is committed to a hash, without an NFT */
export type UpdateKind = 'update' | 'freeze' | 'provenance'

/** An update of an NFT's metadata, its freeze, or a commitment to a provenance hash. */
export interface UpdatesTable extends Work {
  seq: Generated<number>
  /** The transaction_gdn_id of updatednft, freezenft or commitprovenance. A freeze has a row for each NFT. */
  id: string
  request_id: string
  collection_id: string
  /** Null for a commitment. */
  nft_id: string | null
  blockchain: string
  kind: UpdateKind
  /** The metadata as sent, JSON; an empty object for a freeze. For a commitment, its hash: 0x and 64 hex digits. */
  metadata: string
  /** JSON object: file field key to CID, once the files are stored. */
  files: string | null
  status: State<UpdateStatus>
  step: State<UpdateStep>
  error: string | null
  transaction_id: string | null
  /** The sequence of its transaction, once it is final. */
  revision: number | null
  /** The client's name for it, if it has one. */
  reference_id: string | null
  /** For a commitment, the ID of the next token when it was made, once it is final. */
  first_token_id: Generated<string | null>
  /** 1 after a reorg removed its block. */
  returned: Generated<number>
}

/**
 * The operation of a client's reference ID. It is permanent, except that a failed operation without effect may be
 * replaced.
 */
export interface OperationReferencesTable {
  /** The collection; for createcollection the account. */
  scope_id: string
  operation: Operation
  reference_id: string
  /** Digest of the operation, with the version of its definition. */
  digest: string
  /** ID of the NFT, transfer or collection. */
  target_id: string
  /** The label that the client sent with it. A request with another label is rejected. */
  label: string | null
  /** Whether it was made from an ID of the client's row, or from the row's content. */
  kind: 'id' | 'content' | null
  /** The reference ID that an NFT got after its mint, when its row got an ID. Only where `kind` is `content`. */
  alias: string | null
}

export type OwnerEventKind = 'transfer' | 'owner' | 'enable_api' | 'enable_transfer' | 'revoked' | 'frozen'

/** A change on chain with the previous value, so that it can be rolled back. Flags are '0' or '1'. */
export interface OwnerEventsTable {
  blockchain: string
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

/** The cursor of a chain's event reader is the newest row. A reorg falls back to an older one. */
export interface OwnerCursorsTable {
  blockchain: EvmBlockchain
  block_number: number
  block_hash: string
}

/** The next nonce of each signer. */
export interface SignerNoncesTable {
  blockchain: string
  signer: string
  next_nonce: number
}

export interface ChainsTable {
  blockchain: string
  /** embedded: ours · remote: behind RPC URLs */
  network: Generated<'embedded' | 'remote'>
  /** Chain ID of a public network; null for an embedded chain, and on Solana. */
  chain_id: Generated<number | null>
  /** Genesis hash of a public Solana cluster, base58; else null. */
  genesis_hash: Generated<string | null>
  /** Unix seconds; 0 for a public network. */
  genesis_timestamp: number
  /** On Solana the service's own address. */
  factory_address: string
  created_at: number
  /** For a public network: nothing of ours exists before this block; null until something does. */
  start_block: Generated<number | null>
  /**
   * The head of a public network when nonces were found used that this database doesn't have: until events are read up
   * to it, the database lags behind the chain. Null if that never happened.
   */
  behind_until: Generated<number | null>
  /** The follower of a public network, and the end of its lease. */
  follower: Generated<string | null>
  follower_until: Generated<number>
}

/** A block of an embedded chain; `transactions` are raw, one per line. On Solana `number` is the slot. */
export interface ChainBlocksTable {
  blockchain: string
  number: number
  /** Unix seconds. */
  timestamp: number
  transactions: string
  hash: string | null
}

/** Small content-addressed blocks: metadata, directories, small files. */
export interface BlocksTable {
  cid: string
  bytes: Uint8Array
}

/** A file stored outside the data directory. */
export interface StoredFilesTable {
  /** `s3://bucket/prefix`, `ipfs`. */
  place: string
  cid: string
  size: number
}

/** node: an IPFS node has it · pins: a pinning service has it */
export type PublishTarget = 'node' | 'pins'

/** asked: the pinning service is processing it */
export type PublicationState = 'waiting' | 'asked' | 'done'

/** Content to publish; done when it is published. */
export interface PublicationsTable extends Work {
  target: PublishTarget
  cid: string
  state: Generated<PublicationState>
  /** The pinning service's ID of the request. */
  reference: Generated<string | null>
}

/** A used single-use signed URL, stored until it is long expired. */
export interface UsedSignedUrlsTable {
  /** SHA-256 of the URL's signature, hex. */
  signature_hash: string
  expires_at: number
}

/** Secrets that a cluster shares; a single process has them in files of its data directory. */
export interface SecretsTable {
  name: string
  value: string
}

/** Number of requests of a key to an endpoint in the current rate limit window. */
export interface RateWindowsTable {
  name: string
  count: number
  ends_at: number
}

/**
 * found: not examined yet · unexplained: no pending row explains its tokens, and the collection's mints wait for an
 * operator's release · released: known, and minting continues after it
 */
export type UnknownMintState = 'found' | 'unexplained' | 'released'

/** A mint on chain that no transaction of this database made; on Solana, unknown members of a group. */
export interface UnknownMintsTable {
  collection_id: string
  /** Hash of the transaction. On Solana, the group's address and the time in milliseconds. */
  hash: string
  blockchain: string
  block_number: number
  start_id: string
  token_count: number
  state: UnknownMintState
  /** The transaction's first token, and the CID of its metadata directory; null until it is examined. */
  signer: string | null
  directory: string | null
  /** Why no pending row explains it. */
  reason: string | null
  found_at: number
}

/** A token in an update on chain that the database doesn't have. */
export interface UnknownUpdatesTable {
  collection_id: string
  token_id: string
  /** The number of the update in its collection. */
  sequence: number
  blockchain: string
  block_number: number
  transaction_hash: string
}

export type WebhookStatus = 'active' | 'disabled'

/** A subscriber of an account's events. */
export interface WebhooksTable {
  id: string
  account_id: string
  /** url: the backend posts events to it · listener: a temporary reader of the database */
  kind: 'url' | 'listener'
  url: string
  /** JSON list of event types; `*` for all. */
  events: string
  /** The full secret, which signs the deliveries. */
  secret: string
  status: WebhookStatus
  created_at: number
  /** For a listener: no events are written for it after this time, unless it is extended. */
  expires_at: number | null
  /** Number of attempts since the last success. */
  failures: Generated<number>
  failing_since: number | null
  /** Time of the next delivery at the earliest. */
  next_attempt_at: Generated<number>
  /** Lease of the process that sends to it. */
  lease_until: Generated<number>
  generation: Generated<number>
}

export interface WebhookEventsTable {
  /** `evt_…`, ascending with time. */
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
  /** Null before the first attempt. */
  give_up_at: number | null
  /** Result of the last attempt: HTTP status and the beginning of the response, or the error. */
  response_status: number | null
  response: string | null
  error: string | null
  attempted_at: number | null
}

/** A single row: the identity of the backend. */
export interface BackendTable {
  /** Always 1. */
  one: number
  /** A UUID that stays with the data when it is moved. */
  id: string
  /** A UUID that is new after each import, since accepted requests may be missing then. */
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

/** The database, or a transaction in it: every query function takes either. */
export type Db = Kysely<Schema> | Transaction<Schema>
