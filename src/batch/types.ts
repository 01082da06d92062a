import type { Blockchain } from '../api/blockchains.ts'
import type { Capability } from '../api/headers.ts'
import type { MintEndpoint } from '../api/mint-endpoints.ts'
import type { CallOptions, RequestOf, ResponseOf, UploadOptions } from '../client/api-client.ts'
import type { IdentifiedBackend } from '../client/backend.ts'
import type { SendOnceResult } from '../client/outcome.ts'
import type { RunLimit } from '../client/run-limit.ts'
import type { ErrorCode } from '../core/errors.ts'
import type { ExitCode } from '../core/exit-codes.ts'
import type { LockTiming } from '../core/lock-holder.ts'
import type { Now } from '../core/time.ts'
import type { EnsNames } from '../manifest/options.ts'
import type { ManifestItem, ManifestReading } from '../manifest/read.ts'
import type { ManifestRow } from '../manifest/row.ts'
import type { RawDatabase } from '../sqlite/driver.ts'

/** The endpoints that a run calls and that create nothing. Their requests may be repeated. */
export type ReadEndpoint =
  | 'getnfts'
  | 'getnftgdnids'
  | 'getreferences'
  | 'getcontentreferences'
  | 'relabelreferences'
  | 'aliasreferences'
  | 'getsupply'
  | 'getruncosts'
  | 'setrunmaxcost'
  | 'setrunmaxfee'

/** The part of the API client that a run uses. `ApiClient` implements this interface. */
export interface BatchClient {
  /** Makes one attempt to send exactly these bytes. Doesn't throw for network or server errors. */
  send(
    endpoint: MintEndpoint,
    body: Uint8Array,
    options: RunLimit & { idempotencyKey: string; signal?: AbortSignal | undefined },
  ): Promise<SendOnceResult>
  /**
   * Calls an endpoint that creates nothing, within the rate limit.
   *
   * @throws GdnError
   */
  call<Name extends ReadEndpoint>(
    endpoint: Name,
    request: RequestOf<Name>,
    options?: CallOptions,
  ): Promise<ResponseOf<Name>>
  /**
   * Uploads a file.
   *
   * @throws GdnError if the server accepts no files, or if the file has changed since it was hashed
   */
  upload(path: string, name: string, options?: UploadOptions): Promise<{ url: string }>
  /** Returns whether the server reported that it supports a capability, or null if there was no response yet. */
  supports(capability: Capability): boolean | null
  /**
   * Queries the server's capabilities if they aren't known yet or if `refresh` is set. Returns whether the server
   * supports idempotency keys, or null if the server didn't respond.
   */
  learnCapabilities(options?: CallOptions & { refresh?: boolean }): Promise<boolean | null>
}

/**
 * Limits the rate of requests. Grants permission to send in the order of the calls. The caller must call `done` after
 * the response or a failure.
 */
export interface BatchPacer {
  take(endpoint: MintEndpoint, signal?: AbortSignal): Promise<{ done(): void }>
  /** Pauses all requests to an endpoint for `ms` milliseconds, for example after a 429 response. */
  hold(endpoint: MintEndpoint, ms: number): void
}

/** The options of a run that come from the flags of its command. Names and values are those of the flags. */
export interface RunOptionFlags {
  /** Whether to start another drop of a run that is finished. */
  again?: boolean | undefined
  /**
   * Whether to mint new rows even if sent rows are no longer in the manifest. The new rows may be edits of the sent
   * rows.
   */
  newRows?: boolean | undefined
  /**
   * Whether a new run treats rows that are already in the collection as minted, even if their NFTs have another label.
   */
  adopt?: boolean | undefined
  /** Whether rows may exchange values, or their complete content, with other rows. */
  allowExchanged?: boolean | undefined
  /** Whether to search the collection for the rows before sending them. Default: true. */
  lookup?: boolean | undefined
  /** Metadata key for a public value that is unique to each row, so that the row's NFT can be found again. */
  markerKey?: string | undefined
  /** Whether to mint dynamic NFTs with creatednft. Stored with the run. */
  dynamic?: boolean | undefined
  /** Maximum number of rows per request. Default: 50. */
  chunkSize?: number | undefined
  /** Whether to keep the rows in the manifest's order. If set, only one request is in flight at a time. */
  inOrder?: boolean | undefined
  /** Whether to wait until accepted rows are deployed. Default: true. */
  wait?: boolean | undefined
  /** Maximum wait after all rows are sent, in milliseconds. Default: 5 minutes. */
  timeout?: number | undefined
  /** Number of concurrent uploads. Default: 8. */
  uploadConcurrency?: number | undefined
  /**
   * Wait in milliseconds before the collection's listing is used to resolve rows with an unknown outcome. Default: 20
   * times the observed lag of the listing, but at least 30 s.
   */
  listingWait?: number | undefined
}

export interface BatchOptions extends RunOptionFlags {
  /** The directory of the database. */
  stateDir: string
  /** The server: its origin (`https://host[:port]`), or `backend:<id>` for a backend on this machine. */
  origin: string
  /** The backend that currently responds. Undefined if the server has no ID. */
  backend?: IdentifiedBackend
  blockchain: Blockchain
  contractAddress: string
  /** The path of the manifest. Null if there is no manifest, or if it is read from standard input. */
  manifestPath: string | null
  /** The value of `--run <name>`. */
  runName?: string | undefined
  /** The label of the run's reference IDs (see `runLabel`). Null or undefined if there is none. */
  label?: string | null
  /** Resolves the ENS names of the manifest. Receives the addresses that the run has already stored. */
  ensNames?: EnsNames | undefined
  /** Returns whether an NFT certainly belongs to another drop, even if it has the content of a row. */
  isOfOtherDrop?: ((metadata: unknown) => boolean) | undefined
  /**
   * Returns the row number, from 1, of an NFT that any run minted for this unrevealed drop. Returns null for other
   * NFTs.
   */
  committedRow?: ((metadata: unknown) => number | null) | undefined
  /** Flags that select the server, for commands in hints, such as ` --local`. Default: none */
  serverFlags?: string
  /** The number of the drop to resume. Default: the newest drop of the run. */
  generation?: number | undefined
  /** Whether to retry rows that the server refused or whose NFTs failed. */
  retryFailed?: boolean
  /** Whether to retry rows that reconciling found absent. */
  retryAbsent?: boolean
  /** Whether to send no rows, and only resolve rows with an unknown outcome and poll accepted rows. */
  reconcileOnly?: boolean
  /**
   * Whether to treat rows as minted if the server has NFTs for their reference IDs, even if their content was edited
   * afterwards.
   */
  keepEdited?: boolean
  /**
   * The keys of rows whose content in the manifest differs from the sent content, if the run continues with its stored
   * rows.
   */
  editedRows?: ReadonlySet<string> | undefined
  /** The user's decisions on rows with an unknown outcome: each row's NFT, or null if the row wasn't minted. */
  settle?: readonly { key: string; nftGdnId: string | null }[] | undefined
  /**
   * The options with which the manifest was read, as JSON. Later commands use them to read the manifest in the same way
   * and compare it with the run.
   */
  reading?: Readonly<Record<string, unknown>>
  /** Maximum cost of the run's transactions. Stored with the run. */
  maxCostWei?: bigint | undefined
  /** Maximum gas price of the run. Stored with the run. */
  maxFeeWei?: bigint | undefined
  /** Whether to assume that the server supports creatednft, even if it doesn't report this. */
  hasCreatednft?: boolean | undefined
  /** Number of concurrent requests. Default: 8. */
  inFlight?: number
  /** The request rate that a dry run assumes. Default: the rate limit in the API reference. */
  requestsPerSecond?: number | undefined
  /** Time in milliseconds for which the server may be unreachable before the run stops. Default: 2 minutes. */
  unreachableMs?: number
  /**
   * A signal that Ctrl-C aborts. If the reason is a GdnError (`interrupted`, `terminated`), that error determines the
   * exit code.
   */
  signal?: AbortSignal
}

export interface BatchDeps {
  client: BatchClient
  pacer: BatchPacer
  /** Reads the manifest from its beginning. Called at most once. Null to resume with the stored rows. */
  readManifest: (() => AsyncIterable<ManifestItem>) | null
  /**
   * Called before `confirm`, with the run's cost limit in wei and the requests to be sent. Returns the limit to send
   * with the requests instead, or null for no limit. Throws to cancel.
   */
  permit?(planned: PlannedEvent, maxCost: bigint | null, mints: PlannedMints): Promise<bigint | null>
  /**
   * Called before rows are stored and before anything is sent, with the limit that the run's requests contain, and the
   * requests to be sent. Throws to cancel.
   */
  confirm?(planned: PlannedEvent, limit: RunLimit, mints: PlannedMints): Promise<void>
  /** Called after the run's limit is set, and before the first request that costs something. */
  beforeSending?(planned: PlannedEvent, limit: RunLimit): Promise<void>
  /**
   * Called while the server accepts no rows because it can't mint. Returns the funds that a signer lacks to mint all
   * rows, including unsent ones. Returns null if the signer has enough funds.
   */
  shortage?(): Promise<string | null>
  /**
   * Called while the server accepts no more rows because of the run's limit. Returns a limit, in coins, that is enough
   * for all rows, or null if it isn't known.
   */
  sufficientLimit?(): Promise<string | null>
  /** Called for every event, for example to show progress. */
  onEvent?(event: BatchEvent): void
  /** A monotonic clock. Default: `performance.now`. */
  now?: Now
  /** Waits for `ms` milliseconds. Rejects with the signal's reason if the signal is aborted. */
  sleep?(ms: number, signal?: AbortSignal): Promise<void>
  /** Returns a new idempotency key. Default: a random UUID. */
  newKey?(): string
  /** Opens the database of the state directory. Tests pass another driver. */
  openDatabase?(path: string): RawDatabase
  /** Time limits for the heartbeats of other processes. Only tests set them. */
  timing?: LockTiming
}

/**
 * The dependencies of the checks before a run. If the client is null, as in a dry run with `--no-lookup`, no server is
 * queried.
 */
export type CheckDeps = Omit<BatchDeps, 'client' | 'pacer'> & {
  client: BatchDeps['client'] | null
  /** Called for each request of a dry run, in order. */
  onPlanned?(mint: PlannedMint): void
}

/** The requests of a plan. */
export interface PlannedMints {
  dynamic: boolean
  /** Whether the run began with `--again`. If so, it may publish rows that were hidden at that time. */
  again: boolean
  /** The distinct sizes of the requests, in rows. */
  sizes: ReadonlySet<number>
  each(): AsyncIterable<PlannedMint>
  /** Yields the rows in the requests. */
  rows(): AsyncIterable<{ row: ManifestRow }>
  /** Yields the rows with an unknown outcome that the run sends again, as they were sent. */
  resent(): AsyncIterable<{ row: Pick<ManifestRow, 'metadata' | 'localFiles'> }>
  /** Returns a digest of the rows in the requests. */
  digest(): Promise<string>
}

/**
 * A planned request: `count` NFTs for one receiver. If the request has a sender, the NFTs are minted to the sender and
 * then transferred to the receiver.
 */
export interface PlannedMint {
  receiver: string
  sender: string | null
  count: number
}

export type RowStatus = 'pending' | 'unknown' | 'accepted' | 'deployed' | 'failed'

export type RowCounts = Record<RowStatus, number> & { total: number }

/** Identifies a run. `id` is for machines, and `name` is for people. Commands accept both. */
export interface RunRef {
  id: string
  name: string
}

/**
 * A field of a row before and after an edit. `from` or `to` is null if that version of the row doesn't have the field.
 */
export interface FieldChange {
  field: string
  from: string | null
  to: string | null
}

/** A sent row that is no longer in the manifest, with the new row that is most similar to it. */
export interface EditedPair {
  line: number
  title: string
  now: { line: number; title: string } | null
  changes: FieldChange[]
}

/** How the manifest has changed since the run stored its rows. */
export interface ManifestChanges {
  added: number
  /** Number of rows with an `id` whose content changed. Of these, `keptAccepted` rows won't be sent again. */
  changed: number
  keptAccepted: number
  /** Number of rows that are no longer in the manifest. Rows of the next two fields have no NFT. */
  removed: number
  /** Number of removed rows that were never sent. */
  removedUnsent: number
  /** Number of removed rows that failed or are absent. */
  removedFailed: number
  /** For a list of receivers, the numbers of receivers that were added and removed. */
  receivers?: { added: number; removed: number } | undefined
  /** The first rows that were added, changed or removed, by ID or title, for messages. */
  examples: { kind: 'added' | 'changed' | 'removed'; key: string; line: number }[]
}

/** A row with the same content as an earlier row, and the lines of both. */
export interface DuplicateRow {
  line: number
  equals: number
}

export interface Duplicates {
  count: number
  rows: DuplicateRow[]
}

export interface PlannedEvent {
  type: 'planned'
  run: RunRef
  /** Whether the run had already begun. */
  resumed: boolean
  rows: RowCounts
  /** Number of requests to be sent in this call. */
  requests: number
  receivers: number
  /** Whether the order of token IDs will differ from the order of the manifest. */
  reordered: boolean
  files: number
  changes: ManifestChanges
  /** Notes for the user, for example about checks that weren't possible. */
  notes?: string[]
  /** Rows that equal an earlier row and that the run has neither planned nor sent. */
  duplicates?: Duplicates
  /** The run of which this run seems to mint another edition. */
  secondEdition?: SecondEdition | null
}

/** A run, and the number of its rows that another run would mint a second time with different content. */
export interface SecondEdition {
  run: string
  rows: number
}

export type BatchEvent =
  | PlannedEvent
  | { type: 'uploaded'; path: string; url: string; done: number; files: number }
  | { type: 'sending'; request: number; rows: number; attempt: number }
  | {
      type: 'answered'
      request: number
      rows: number
      outcome: 'accepted' | 'refused' | 'unknown' | 'no_effect'
      status: number | null
      message: string | null
    }
  /** Event when sending is paused for `ms` milliseconds. */
  | {
      type: 'holding'
      reason: 'rate_limited' | 'not_ready' | 'max_cost' | 'unreachable' | 'unknown'
      ms: number
      message: string
    }
  /** Event after each change of the row counts, with the number of rows by status. */
  | { type: 'rows'; counts: RowCounts }
  /**
   * Event while accepted rows wait for deployment. `pending` is their number, and `reason` is why they aren't minted
   * yet.
   */
  | { type: 'waiting'; pending: number; reason?: string | null }
  /**
   * Event while the run reads NFTs before it sends rows, for example to compare rows with unknown NFTs of the
   * collection. `done` of `total` NFTs were read.
   */
  | { type: 'looking_up'; done: number; total: number }
  /**
   * Event while rows with an unknown outcome are being resolved. `ms` is the remaining wait. `done` of `total` NFTs
   * were read.
   */
  | { type: 'reconciling'; phase: 'waiting' | 'listing' | 'reading'; ms: number; done: number; total: number }
  | { type: 'reconciled'; adopted: number; absent: number; undecided: number }
  /** Event when the server rejected a request because of its size. Later requests are smaller. */
  | { type: 'resized'; chunkSize: number; message: string }

/** A row of the results, in the order of the manifest. Field names are those of the API. */
export interface ResultRow {
  key: string
  line: number
  /** Null for an adopted row that was removed from the manifest. */
  title: string | null
  status: RowStatus
  nft_gdn_id: string | null
  token_id: string | null
  contract_address: string
  receiver_wallet_address: string
  metadata_url: string | null
  error: string | null
  /** Whether the NFT was burned, according to the state of this machine. `status` is still that of the mint. */
  burned: boolean
}

export interface BatchSummary {
  run: RunRef
  counts: RowCounts
  /** Number of deployed rows whose NFTs have been burned, according to the state of this machine. */
  burned: number
  /** Number of requests in this call, and number of attempts to send these requests. */
  requests: number
  attempts: number
  changes: ManifestChanges
  /** The reason why the run ended early, or null. Another call resumes the run. */
  stopped: { code: ErrorCode; message: string; hint: string | null } | null
  /** The first 50 rows with an unknown outcome. The following lists have the same limit. */
  unknownRows: { key: string; line: number }[]
  failedRows: { key: string; line: number; error: string }[]
  pendingRows: { key: string; line: number }[]
  acceptedRows: { key: string; line: number }[]
  /** The rows with an unknown outcome that aren't in the collection, and the rows that can't be decided. */
  absentRows: { key: string; line: number; reason: string }[]
  undecidedRows: { key: string; line: number; reason: string }[]
  /** Rows with a second NFT from another request of this run, another run or another client. */
  doubledRows: { key: string; line: number; reason: string; nft_gdn_id: string }[]
  /** The reason why the server hasn't minted accepted rows yet, or null if it is unknown. */
  waiting?: string | null
  /**
   * The result of reconciling, or null if there was nothing to reconcile. `basis` is the evidence for the absence of
   * rows.
   */
  reconciled: { adopted: number; basis: 'later_rows' | 'time_alone' | null } | null
  exitCode: ExitCode
}

/** The plan of a run that passed its checks. Nothing was sent, and nothing was written to the state directory. */
export interface DryRun {
  run: RunRef
  rows: RowCounts
  requests: number
  /** Total size of the request bodies, in bytes. */
  bytes: number
  receivers: number
  files: number
  reordered: boolean
  /** The order of the token IDs, as a sentence. */
  order: string
  /** Estimated sending time at the assumed rate, in seconds. Excludes the wait for deployment. */
  seconds: number
  changes: ManifestChanges
  /** Notes for the user before the run starts. */
  notes: readonly string[]
  firstRequest: { endpoint: MintEndpoint; body: unknown } | null
}

export interface RunInfo extends RunRef {
  /** ID of the run, which all its drops share. */
  family: string
  origin: string
  /** The server's address when the run began. */
  url: string
  /** The ID of the run's backend, or null if none is recorded. */
  backendId: string | null
  blockchain: Blockchain
  contractAddress: string
  manifestPath: string | null
  runName: string | null
  /** Number of the drop: 1 for the first drop, 2 after `--again`, and so on. */
  generation: number
  chunkSize: number
  inOrder: boolean
  startedAt: string
  /** The options with which the manifest was last read. */
  reading: Readonly<Record<string, unknown>>
  running: boolean
}

/** A run on this machine, as read from the state. Another process may be working on the run. */
export interface Run extends RunInfo {
  stateDir: string
}

export interface RunStatus extends RunInfo {
  counts: RowCounts
  /** Number of deployed rows whose NFTs have been burned, according to the state of this machine. */
  burned: number
}

/** The items of a manifest. `ManifestReading` describes the other properties. */
export type Items = AsyncIterable<ManifestItem> &
  Partial<Pick<ManifestReading, 'blocks' | 'digest' | 'fingerprint' | 'notes'>>
