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

/** Title, description, files, attributes and other metadata keys of an NFT. */
export type NftMetadata = Exclude<CreatenftRequest['metadata'], readonly unknown[]>

export interface ClientOptions {
  /** URL of the server. Default: the environment variable `GDN_BASE_URL`. */
  baseUrl?: string | undefined
  /** API key for the server. Default: the environment variable `GDN_API_KEY`. */
  apiKey?: string | undefined
  /**
   * Directory of the state database, which is shared with the CLI. Default: the environment variable `GDN_STATE_DIR`,
   * or else `~/.local/state/gdn`.
   */
  stateDir?: string | undefined
  /** Version of the API that the server uses for this key. Default: 1.1. */
  apiVersion?: '1.1' | '1.2' | undefined
}

/** The client for one server with one API key. It opens connections with its first request. */
export interface Client {
  readonly baseUrl: string
  /**
   * The endpoints of the API. Each call is one request, which is first checked against the API contract. Calls wait for
   * the rate limit, which all processes of a user share.
   *
   * A call that only reads is retried for up to 30 s after temporary failures. A call that creates something is sent
   * exactly once. If its response is lost, the call rejects with the code `unknown_outcome`.
   *
   * @throws GdnError `invalid_input` for an invalid request; `refused`, `unauthorized`, `forbidden` or `not_found` for
   *   a rejected request; `unreachable`, `rate_limited` or `bad_answer` if the server can't be used; `unknown_outcome`
   *   if the request may have taken effect
   * @example
   * const { nfts } = await gdn.api.getnfts({ nft_gdn_ids: [id] })
   */
  readonly api: Api
  /**
   * Creates a collection at most once for an idempotency key, as `mint` does, and waits until it has an address.
   *
   * @throws GdnError as for `mint`; `refused` if the collection was accepted and then failed
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
   * Mints the NFTs of a request at most once for an idempotency key, even if several calls or processes share the key
   * and the state directory. With `sender_wallet_address`, the NFTs are created for the sender and transferred to the
   * receiver (`createnfttrans`).
   *
   * The request is recorded in the state database before it is sent. A call with the same key continues where another
   * one ended. If the outcome of the request is unknown, the call first determines it. A request that the server
   * refused had no effect, so its key may be used again.
   *
   * @throws GdnError as for the endpoints, and `idempotency_key_reused` if the key identifies another request;
   * `unknown_outcome` if the outcome is unknown; `pending` after the timeout; `nft_failed`; `seems_minted` if the state
   * directory may be a copy; `data_dir` if the state can't be used
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
   * if some of the NFTs failed, which `details` lists; `not_found` if a gdn backend doesn't have one of the NFTs
   */
  waitForNfts(ids: readonly string[], options?: WaitOptions): Promise<Nft[]>
  /**
   * Closes the connections and the state database. A program may end without this call, because idle connections don't
   * keep the process alive.
   */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** An NFT as the server returns it. */
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
  /** Maximum time to wait for the blockchain, in milliseconds. Default: 5 minutes. */
  timeoutMs?: number | undefined
  /**
   * Cancels the call, which rejects with the signal's reason. If the request was already sent, it may still take
   * effect.
   */
  signal?: AbortSignal | undefined
}

export interface OperationOptions extends WaitOptions {
  /** Identifies the operation permanently. A key never identifies another request. At most 255 characters. */
  idempotencyKey: string
  /**
   * Whether the call waits for the blockchain. If false, it returns as soon as the server has accepted the request.
   * Default: true.
   */
  wait?: boolean | undefined
}

export interface Minted {
  /** UUID of the operation, derived from the key. The server stores it as the reference ID. */
  operationId: string
  /** The NFTs in the order of the metadata. If the call doesn't wait, only the IDs and the dates are set. */
  nfts: MintedNft[]
}

export type MintedNft = Partial<Nft> & {
  nft_gdn_id: string
  /** Time when the server accepted the request; null if the NFT was found later. */
  accepted_date: string | null
}

/**
 * Like `Omit`, but keeps the types of known fields. `Omit` would lose them, because a record may have unknown fields.
 */
type Without<Item, Field> = { [Key in keyof Item as Key extends Field ? never : Key]: Item[Key] }

export interface CreatedCollection {
  /** UUID of the operation, as in `Minted`. */
  operationId: string
  /** The collection. If the call doesn't wait, only the ID and the date are set. */
  collection: Partial<Without<GetcollectionsResponse['collections'][number], 'transaction_gdn_ids'>> & {
    transaction_gdn_id: string
    accepted_date: string | null
  }
}

/** A collection with an address, because the call waited for its deployment. */
export interface DeployedCollection extends CreatedCollection {
  collection: CreatedCollection['collection'] & { contract_address: string }
}

export interface Transferred {
  /** UUID of the operation, as in `Minted`. */
  operationId: string
  transaction: Partial<Without<GettransactionsResponse['transactions'][number], 'transaction_gdn_id'>> & {
    /** ID of the transaction. Null if the request got no response and the transfer was found to be complete. */
    transaction_gdn_id: string | null
    accepted_date: string | null
  }
}

export interface ManifestOptions {
  /** The blockchain, unless a column of the manifest specifies it. */
  blockchain?: Blockchain | undefined
  /** Address of the collection, unless a column of the manifest specifies it. */
  contractAddress?: string | undefined
  /** The receiver of rows that specify none. */
  receiver?: string | undefined
  /** The sender of rows that specify none. */
  sender?: string | undefined
}

/** A manifest, with its valid rows and all problems. */
export interface Manifest {
  rows: ManifestRow[]
  /** All problems of the manifest. Empty if every row is valid. */
  problems: ManifestProblem[]
  /** The blockchain. Null if neither the options nor the manifest specify it. */
  blockchain: Blockchain | null
  /** Address of the collection. Null if neither the options nor the manifest specify it. */
  contractAddress: string | null
}

/** One NFT of a manifest. */
export interface ManifestRow {
  /** The row number in a CSV file, as in a spreadsheet (the header is row 1), or the line number in a JSON file. */
  line: number
  /** The row's `id`; null if the row has none. */
  id: string | null
  receiver: string
  /** The sender. If set, the NFT is created for the sender and transferred to the receiver (`createnfttrans`). */
  sender: string | null
  /** The NFT's metadata. The URLs of local files are empty until the files are uploaded. */
  metadata: NftMetadata
  /** The row's local files: the key of the file field, and the absolute path of an existing file. */
  localFiles: { key: string; path: string }[]
}

export interface ManifestProblem {
  /** The complete problem with its location: `drop.csv:7:3: title is required`. */
  text: string
  file?: string | undefined
  /** Number of the line, starting at 1. */
  line?: number | undefined
  /** Number of the column, starting at 1. */
  column?: number | undefined
  field?: string | undefined
  message: string
  /** How to fix the problem. */
  hint?: string | undefined
}

export interface LocalOptions {
  /** Whether the API limits request rates, as a hosted service does. Default: false. */
  rateLimits?: boolean | undefined
  /** API version of keys that don't specify one. */
  apiVersion?: '1.1' | '1.2' | undefined
  /** Path of a file that describes failures to inject (docs/fault-injection.md). */
  faults?: string | undefined
  /** A network to fork, such as `polygon=https://node.example/KEY`. The backend only reads from it. */
  fork?: string | undefined
  /** Whether the backend also fetches files from private addresses, such as that of a test server. */
  allowPrivateFiles?: boolean | undefined
}

/** A temporary backend. `createClient` accepts it as its options. */
export interface Local {
  readonly baseUrl: string
  readonly apiKey: string
  /** A separate state directory for this backend. */
  readonly stateDir: string
  /** Stops the backend, and deletes its data. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}
