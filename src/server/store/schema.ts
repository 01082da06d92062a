import type { ColumnType, Generated, Kysely, Transaction } from 'kysely'
import type { EvmBlockchain } from '../../api/blockchains.ts'
import type { Operation } from '../../api/operation-digest.ts'

/** Times are milliseconds since the epoch; flags are 0 or 1; addresses have their checksum. */

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
  /** The first characters of the key, to tell keys apart; the key itself is nowhere. */
  prefix: string
  /** SHA-256 of the key, hex. */
  hash: string
  /** JSON list of permissions. */
  permissions: string
  created_at: number
  expires_at: number | null
  revoked_at: number | null
}

/** An accepted creating request, kept with the answer it was given. */
export interface RequestsTable {
  id: string
  account_id: string
  endpoint: string
  idempotency_key: string | null
  /** SHA-256 of the body, hex. */
  body_hash: string
  /** The answer's body, JSON. */
  response: string
  accepted_at: number
  /** The run of a batch that it came with, as the client calls it. */
  run: Generated<string | null>
}

/** Written with the first request of a run. */
export interface RunsTable {
  account_id: string
  run: string
  /** That of its first request. */
  collection_id: string
  started_at: number
}

/** How many NFTs of 4,096 that follow each other are in which state. Triggers write it; on PostgreSQL add rows up. */
export interface NftCountsTable {
  collection_id: string
  /** Empty where they came without one. */
  run: string
  /** `seq >> 12` */
  bucket: number
  files: number
  /** For a batch, or in one that isn't final. */
  waiting: number
  deployed: number
  failed: number
}

/** What NFTs are found by: see title-index.ts. */
export interface NftTermsTable {
  term: string
  seq: number
}

/** How far the index of terms has come: one row, or none at first. */
export interface NftTermCursorTable {
  id: number
  next_seq: number
  /** JSON: ranges of places before it that were empty, and since when. */
  gaps: string
}

/** A column that only `src/server/state` writes: it has the allowed transitions. */
export type State<Value> = ColumnType<Value, never, never>

/** Where a row stands in the pipeline, and when and by whom it may be worked on. */
interface Work {
  attempts: Generated<number>
  next_attempt_at: number
  lease_until: Generated<number>
  /** Grows with every claim: a worker that lost its lease can't write. */
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
  /** On Solana the service's own address: the mint's address derives from it. */
  factory_address: string
  enable_api: number
  enable_transfer: number
  is_locked: number
  /** The owner has taken every right from the service, for good. */
  revoked: Generated<number>
  description: string | null
  image: string | null
  status: State<CollectionStatus>
  error: string | null
  /** The token id that the next batch begins with, as signed so far. Text: ids may exceed 2^53. */
  next_token_id: string
  /** Most tokens in the next batch: halved after a batch was refused, to find the one that is at fault. */
  batch_limit: number | null
  transaction_id: string | null
}

export type NftStatus = 'initiated' | 'deployed' | 'failed'
/** files: fetch and store them · mint: wait for a batch · chain: signed, waiting to be final · done */
export type NftStep = 'files' | 'mint' | 'chain' | 'done'

export interface NftsTable extends Work {
  seq: Generated<number>
  id: string
  request_id: string
  collection_id: string
  /** Who has the token first, where it is created and transferred in one step; else null. */
  sender: string | null
  receiver: string
  /** Who has the token now, by the chain; null before it is deployed. */
  owner: string | null
  /** The block of the last transfer that said so; null where none did. Events of earlier blocks don't count any more. */
  owner_block: Generated<number | null>
  /** The metadata as it was sent, JSON. */
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
}

export type TransactionKind = 'factory' | 'collection' | 'mint' | 'grant' | 'transfer'
/**
 * reverted: executed without effect.
 * lost: it can never be executed; what it was to do is signed for again. On EVM chains another transaction used its
 * nonce, on Solana it expired.
 * cancelled: an operator had its nonce used by an empty transaction; what it was to do has failed.
 */
export type TransactionState = 'signed' | 'final' | 'reverted' | 'lost' | 'cancelled'
/** What an operator requests of a pending transaction: higher fees, or that it is cancelled. */
export type TransactionAction = 'bump' | 'cancel'

/** A signed transaction. Its bytes are here before any network sees them, and the same bytes are sent on any doubt. */
export interface TransactionsTable extends Work {
  id: string
  blockchain: string
  signer: string
  /** Null on Solana. */
  nonce: number | null
  kind: TransactionKind
  /** Null for a factory and for transfers. On EVM chains a collection has one unfinished transaction at a time. */
  collection_id: string | null
  /** ID of the first token that it mints on an EVM chain; else null. */
  start_id: string | null
  /** On Solana the address of the mint that it creates, which is the ID of the token; else null. */
  mint: Generated<string | null>
  /** NFTs that it mints. */
  token_count: number
  /** CID of the directory of its metadata files. */
  directory: string | null
  /** Hexadecimal, on Solana base64. Empty where it is not sent again. */
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
  /** On Solana why it failed; else null. */
  error: Generated<string | null>
  created_at: number
  /** 1 while its block may still be undone by a reorg. */
  watched: Generated<number>
  /** 1 once a reorg has undone its block. */
  returned: Generated<number>
  requested_action: Generated<TransactionAction | null>
}

/** Each signing of a transaction that was signed more than once: the same nonce, higher fees. Any of them may be mined. */
export interface TransactionAttemptsTable {
  transaction_id: string
  /** From 0. */
  number: number
  raw: string
  hash: string
  /** Wei, decimal digits. */
  max_fee_per_gas: string
  max_priority_fee_per_gas: string
  created_at: number
  /** 1 where it does nothing but use the nonce. */
  cancels: Generated<number>
}

export type TransferStatus = 'initiated' | 'deployed' | 'failed'

/** An NFT's way to a new owner. */
export interface TransfersTable {
  seq: Generated<number>
  /** The transaction_gdn_id of transfernft. */
  id: string
  request_id: string
  collection_id: string
  nft_id: string
  blockchain: string
  sender: string
  receiver: string
  status: State<TransferStatus>
  error: string | null
  transaction_id: string | null
  /** 1 once a reorg has undone its block. */
  returned: Generated<number>
}

/** What a client's reference ID names. It stays for good; what failed without effect may be replaced. */
export interface OperationReferencesTable {
  /** The collection; of createcollection the account. */
  scope_id: string
  operation: Operation
  reference_id: string
  /** Of the operation, with the version of its definition. */
  digest: string
  /** The NFT, transfer or collection. */
  target_id: string
}

export type OwnerEventKind = 'transfer' | 'owner' | 'enable_api' | 'enable_transfer' | 'revoked'

/** What an event on chain changed, and from what: enough to take it back. Flags are '0' or '1'. */
export interface OwnerEventsTable {
  blockchain: string
  block_number: number
  log_index: number
  transaction_hash: string
  collection_id: string
  kind: OwnerEventKind
  /** Of a transfer; else null. */
  token_id: string | null
  previous: string
  next: string
}

/** How far a chain's events were read: the newest row. Older ones are where a reorg falls back to. */
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
  /** Of a remote one; null where it is embedded, and on Solana. */
  chain_id: Generated<number | null>
  /** Of a remote Solana cluster, base58; else null. */
  genesis_hash: Generated<string | null>
  /** Unix seconds; 0 of a remote one. */
  genesis_timestamp: number
  /** On Solana the service's own address. */
  factory_address: string
  created_at: number
  /** Of a remote one: nothing of ours was on it before this block; null until something was. */
  start_block: Generated<number | null>
  /**
   * The head of a remote one when nonces were found used that this database doesn't know: until events are read up to
   * it, the database is behind the chain. Null where that never happened.
   */
  behind_until: Generated<number | null>
  /** The process that follows the owners of a remote one, and until when no other does. */
  follower: Generated<string | null>
  follower_until: Generated<number>
}

/** A block of an embedded chain; `transactions` are the raw ones, a line each. On Solana `number` is the slot. */
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

/** A file in another place than the data dir. */
export interface StoredFilesTable {
  /** `s3://bucket/prefix`, `ipfs`. */
  place: string
  cid: string
  size: number
}

/** node: an IPFS node has it · pins: a pinning service has it */
export type PublishTarget = 'node' | 'pins'

/** asked: the pinning service is at it */
export type PublicationState = 'waiting' | 'asked' | 'done'

/** Content that others are to know; done when they do. */
export interface PublicationsTable extends Work {
  target: PublishTarget
  cid: string
  state: Generated<PublicationState>
  /** What a pinning service calls the request. */
  reference: Generated<string | null>
}

/** A signed URL that may be used once and was; kept until the URL is long expired. */
export interface UsedSignedUrlsTable {
  /** SHA-256 of the URL's signature, hex. */
  signature_hash: string
  expires_at: number
}

/** What was a file of the data dir where one process has it to itself, and where there are several is theirs in common. */
export interface SecretsTable {
  name: string
  value: string
}

/** Requests of a key to an endpoint in the present window of its rate limit. */
export interface RateWindowsTable {
  name: string
  count: number
  ends_at: number
}

/**
 * found: not looked into yet · unexplained: no pending row gives its tokens, and the collection's mints wait for an
 * operator's release · released: known, and minting goes on after it
 */
export type UnknownMintState = 'found' | 'unexplained' | 'released'

/** A mint on chain that no transaction of this database made; on Solana, members of a group that it does not know. */
export interface UnknownMintsTable {
  collection_id: string
  /** Of the transaction. On Solana, the group's address and the time in milliseconds. */
  hash: string
  blockchain: string
  block_number: number
  start_id: string
  token_count: number
  state: UnknownMintState
  /** Of the transaction, and the CID of its metadata directory; null before it was looked into. */
  signer: string | null
  directory: string | null
  /** Why no pending row explains it. */
  reason: string | null
  found_at: number
}

export type WebhookStatus = 'active' | 'disabled'

/** Whom an account's events are told. */
export interface WebhooksTable {
  id: string
  account_id: string
  /** url: events are posted to it by the backend · listener: somebody reads them from the database, for a while */
  kind: 'url' | 'listener'
  url: string
  /** JSON list of types; `*` is all. */
  events: string
  /** In full: what is sent is signed with it. */
  secret: string
  status: WebhookStatus
  created_at: number
  /** Of a listener: nothing is written for it any more, unless it says before that it is still there. */
  expires_at: number | null
  /** Attempts since the last that succeeded. */
  failures: Generated<number>
  failing_since: number | null
  /** Nothing is sent to it before. */
  next_attempt_at: Generated<number>
  /** Of the process that sends to it. */
  lease_until: Generated<number>
  generation: Generated<number>
}

export interface WebhookEventsTable {
  /** `evt_…`, ascending with time. */
  id: string
  type: string
  /** What is posted, to the byte. */
  body: string
  created_at: number
}

export type DeliveryState = 'waiting' | 'delivered' | 'failed'

/** An event that one webhook is told. */
export interface WebhookDeliveriesTable {
  webhook_id: string
  event_id: string
  state: DeliveryState
  attempts: Generated<number>
  next_attempt_at: Generated<number>
  /** Null before the first attempt. */
  give_up_at: number | null
  /** Of the last attempt: HTTP status and the beginning of the answer, or why there was none. */
  response_status: number | null
  response: string | null
  error: string | null
  attempted_at: number | null
}

/** One row: what clients recognize the backend by. */
export interface BackendTable {
  /** Always 1. */
  one: number
  /** A UUID that stays with the data, wherever they are moved. */
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
  operation_references: OperationReferencesTable
  owner_events: OwnerEventsTable
  owner_cursors: OwnerCursorsTable
  unknown_mints: UnknownMintsTable
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
