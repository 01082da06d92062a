import type {
  Api,
  Blockchain,
  CreatecollectionRequest,
  CreatenftRequest,
  CreatenfttransRequest,
  GetcollectionsResponse,
  GetnftsResponse,
  GettransactionsResponse,
  TransfernftRequest,
} from './generated/api.ts'

/** Title, description, files, attributes and further keys of an NFT. */
export type NftMetadata = Exclude<CreatenftRequest['metadata'], readonly unknown[]>

export interface ClientOptions {
  /** URL of the server; by default the environment variable `GDN_BASE_URL`. */
  baseUrl?: string | undefined
  /** Key for that server; by default the environment variable `GDN_API_KEY`. */
  apiKey?: string | undefined
  /**
   * Directory of the state database, which is shared with the command line; by default the environment variable
   * `GDN_STATE_DIR`, or else `~/.local/state/gdn`.
   */
  stateDir?: string | undefined
  /** Version of the API that the server follows for this key; 1.1 by default. */
  apiVersion?: '1.1' | '1.2' | undefined
}

/** The client of one server with one key. It opens connections with its first request. */
export interface Client {
  readonly baseUrl: string
  /**
   * The endpoints of the API. Each call is one request, checked by the contract before it is sent. Calls wait for the
   * rate limit, which all processes of a user share.
   *
   * An endpoint that only reads is tried again for up to 30 s after temporary failures. An endpoint that creates
   * something is requested exactly once. If its response is lost, the call rejects with the code `unknown_outcome`.
   *
   * @throws GdnError `invalid_input` for an invalid request; `refused`, `unauthorized`, `forbidden` or `not_found` for
   *   a rejected one; `unreachable`, `rate_limited` or `bad_answer` if the server can't be used; `unknown_outcome` if
   *   the request may have taken effect
   * @example
   * const { nfts } = await gdn.api.getnfts({ nft_gdn_ids: [id] })
   */
  readonly api: Api
  /**
   * Creates a collection at most once for an idempotency key, as `mint` does, and waits until it has an address.
   *
   * @throws GdnError as `mint`; `refused` if the collection was accepted and then failed
   * @example
   * const { collection } = await gdn.createCollection(request, { idempotencyKey: 'spring-drop' })
   * console.log(collection.contract_address)
   */
  createCollection(
    request: CollectionRequest,
    options: OperationOptions & { wait?: true | undefined },
  ): Promise<DeployedCollection>
  createCollection(request: CollectionRequest, options: OperationOptions): Promise<CreatedCollection>
  /**
   * Mints the NFTs of a request at most once for an idempotency key, in any number of calls and processes with the same
   * state directory, at any time. With `sender_wallet_address`, they are created for the sender and transferred
   * to the receiver (`createnfttrans`).
   *
   * The request is recorded in the state database before it is sent. A call with the same key continues where another
   * one ended. If the outcome of the request is unknown, the call first determines it. A request that the
   * server refused had no effect, so its key may be used again.
   *
   * @throws GdnError as the endpoints, and `idempotency_key_reused` if the key identifies another request;
   *   `unknown_outcome` if the outcome is unknown; `pending` after the timeout; `nft_failed`;
   *   `seems_minted` if the state directory may be a copy; `data_dir` if the state can't be used
   * @example
   * const { nfts } = await gdn.mint(request, { idempotencyKey: `order-${order.id}` })
   */
  mint(request: MintRequest, options: OperationOptions): Promise<Minted>
  /**
   * Transfers an NFT at most once for an idempotency key, as `mint` does.
   *
   * @example
   * const { transaction } = await gdn.transfer(request, { idempotencyKey: `gift-${gift.id}` })
   */
  transfer(request: TransferRequest, options: OperationOptions): Promise<Transferred>
  /**
   * Waits until every NFT is deployed, and returns their records in the order of the IDs.
   *
   * @throws GdnError `pending` after the timeout, with the `pending_reason` of each NFT in `details.nfts`; `nft_failed`
   *   if some of them failed, which its `details` name; `not_found` if a gdn backend doesn't know one of them
   */
  waitForNfts(ids: readonly string[], options?: WaitOptions): Promise<Nft[]>
  /**
   * Closes the connections and the state database. Idle ones don't keep a process alive, so a program may also end
   * without it.
   */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** An NFT as the server shows it. */
export type Nft = GetnftsResponse['nfts'][number]

/** A request to create a collection. `createCollection` sets the reference ID. */
export type CollectionRequest = CreatecollectionRequest & { reference_id?: never }

/** A request to mint. `mint` sets the reference IDs. */
export type MintRequest =
  | (CreatenftRequest & { reference_ids?: never })
  | (CreatenfttransRequest & { sender_wallet_address: string; reference_ids?: never })

/** A request to transfer an NFT. `transfer` sets the reference ID. */
export type TransferRequest = TransfernftRequest & { reference_id?: never }

export interface WaitOptions {
  /** How long to wait for the blockchain; 5 minutes by default. */
  timeoutMs?: number | undefined
  /**
   * Cancels the call, which rejects with the signal's reason. If the request was already sent, it may still take
   * effect.
   */
  signal?: AbortSignal | undefined
}

export interface OperationOptions extends WaitOptions {
  /** Names the operation permanently: a key never identifies another request. At most 255 characters. */
  idempotencyKey: string
  /** False to return as soon as the server has accepted the request. By default, the call waits for the blockchain. */
  wait?: boolean | undefined
}

export interface Minted {
  /** UUID of the operation, which follows from the key. The server has it as the reference ID. */
  operationId: string
  /** In the order of the metadata. Without waiting, only the IDs and the dates are set. */
  nfts: MintedNft[]
}

export type MintedNft = Partial<Nft> & {
  nft_gdn_id: string
  /** When the server accepted it; null if it was found later. */
  accepted_date: string | null
}

/** A record without a field. `Omit` loses the types of all other fields, because a record may have unknown ones. */
type Without<Item, Field> = { [Key in keyof Item as Key extends Field ? never : Key]: Item[Key] }

export interface CreatedCollection {
  /** UUID of the operation, as in `Minted`. */
  operationId: string
  /** Without waiting, only the ID and the date are set. */
  collection: Partial<Without<GetcollectionsResponse['collections'][number], 'transaction_gdn_ids'>> & {
    transaction_gdn_id: string
    accepted_date: string | null
  }
}

/** A collection that was waited for, so it has an address. */
export interface DeployedCollection extends CreatedCollection {
  collection: CreatedCollection['collection'] & { contract_address: string }
}

export interface Transferred {
  /** UUID of the operation, as in `Minted`. */
  operationId: string
  transaction: Partial<Without<GettransactionsResponse['transactions'][number], 'transaction_gdn_id'>> & {
    /** Null if the transfer was found to be complete without a response. */
    transaction_gdn_id: string | null
    accepted_date: string | null
  }
}

export interface ManifestOptions {
  /** The blockchain, unless a column of the manifest names it. */
  blockchain?: Blockchain | undefined
  /** Address of the collection, unless a column of the manifest names it. */
  contractAddress?: string | undefined
  /** The receiver of rows that name none. */
  receiver?: string | undefined
  /** The sender of rows that name none. */
  sender?: string | undefined
}

/** A manifest: its valid rows, and every problem. */
export interface Manifest {
  rows: ManifestRow[]
  /** Empty if every row is valid. */
  problems: ManifestProblem[]
  /** Null if neither the options nor the manifest name it. */
  blockchain: Blockchain | null
  /** Null if neither the options nor the manifest name it. */
  contractAddress: string | null
}

/** One NFT of a manifest. */
export interface ManifestRow {
  /** The row of a CSV file as a spreadsheet shows it (the header is 1), or the line of a JSON file. */
  line: number
  /** The row's `id`; null if it has none. */
  id: string | null
  receiver: string
  /** If set, the NFT is created for the sender and transferred to the receiver (`createnfttrans`). */
  sender: string | null
  /** The URL of a local file is empty until the file is uploaded. */
  metadata: NftMetadata
  /** Local files by the key of their file field, as absolute paths of existing files. */
  localFiles: { key: string; path: string }[]
}

/** One problem of a manifest. */
export interface ManifestProblem {
  /** The whole problem, with its location: `drop.csv:7:3: title is required`. */
  text: string
  file?: string | undefined
  /** The first line is 1. */
  line?: number | undefined
  /** The first column is 1. */
  column?: number | undefined
  field?: string | undefined
  message: string
  /** How to fix it. */
  hint?: string | undefined
}

export interface LocalOptions {
  /** Whether the API limits rates, as a hosted service does; off by default. */
  rateLimits?: boolean | undefined
  /** API version of keys that specify none. */
  apiVersion?: '1.1' | '1.2' | undefined
  /** Path of a file that describes failures to inject (docs/fault-injection.md). */
  faults?: string | undefined
  /** A network to fork, such as `polygon=https://node.example/KEY`. It is only read. */
  fork?: string | undefined
  /** Whether the backend also fetches files from private addresses, such as a server in a test. */
  allowPrivateFiles?: boolean | undefined
}

/** A temporary backend. `createClient` accepts it as its options. */
export interface Local {
  readonly baseUrl: string
  readonly apiKey: string
  /** A state directory of its own. */
  readonly stateDir: string
  /** Stops the backend, and deletes its data. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}
