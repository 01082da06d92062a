import type { Blockchain } from '../api/blockchains.ts'
import type { Capability } from '../api/headers.ts'
import type { CallOptions, RequestOf, ResponseOf, UploadOptions } from '../client/api-client.ts'
import type { SeenBackend } from '../client/backend.ts'
import type { Sent } from '../client/outcome.ts'
import type { RunLimit } from '../client/run-limit.ts'
import type { ErrorCode } from '../core/errors.ts'
import type { ExitCode } from '../core/exit-codes.ts'
import type { LockTiming } from '../core/lock-holder.ts'
import type { Now } from '../core/time.ts'
import type { ManifestItem, ManifestReading } from '../manifest/read.ts'
import type { RawDatabase } from '../sqlite/driver.ts'

/** The endpoints that a batch sends its rows to. */
export type MintEndpoint = 'createnft' | 'creatednft' | 'createnfttrans'

/** The endpoints that a batch calls and that create nothing. They may be repeated. */
export type ReadEndpoint =
  | 'getnfts'
  | 'getnftgdnids'
  | 'getreferences'
  | 'getcontentreferences'
  | 'relabelreferences'
  | 'aliasreferences'
  | 'getruncosts'
  | 'setrunmaxcost'
  | 'setrunmaxfee'

/** The interface of the client that a batch uses. `ApiClient` implements it. */
export interface BatchClient {
  /** Makes one attempt with exactly these bytes. Never throws for errors of the network or the server. */
  send(
    endpoint: MintEndpoint,
    body: Uint8Array,
    options: RunLimit & { idempotencyKey: string; signal?: AbortSignal | undefined },
  ): Promise<Sent>
  /** Reads details of NFTs, collections and runs, or limits the fees of a run, at the allowed rate. Throws GdnError. */
  call<Name extends ReadEndpoint>(
    endpoint: Name,
    request: RequestOf<Name>,
    options?: CallOptions,
  ): Promise<ResponseOf<Name>>
  /** Throws GdnError if the server accepts no files, or the file has changed since it was hashed. */
  upload(path: string, name: string, options?: UploadOptions): Promise<{ url: string }>
  /** Whether the server announced a capability; null until it has responded. */
  supports(capability: Capability): boolean | null
  /** Queries the server for these if they aren't known yet, or with `refresh`. Null if it gave no response. */
  learnIdempotency(options?: CallOptions & { refresh?: boolean }): Promise<boolean | null>
}

/** Grants permission to send, in order. Call `done` when the response has arrived or failed. */
export interface BatchPacer {
  take(endpoint: MintEndpoint, signal?: AbortSignal): Promise<{ done(): void }>
  /** Holds all requests of that endpoint for this time, after a 429. */
  hold(endpoint: MintEndpoint, ms: number): void
}

export interface BatchOptions {
  /** The directory of the database. */
  stateDir: string
  /** Identifies the server: its origin (`https://host[:port]`), or `backend:<id>` for one on this machine. */
  origin: string
  /** The backend that listens there now; absent if the server has no ID. */
  backend?: SeenBackend
  blockchain: Blockchain
  contractAddress: string
  /** Absolute real path; null for standard input, which needs `runName`. */
  manifestPath: string | null
  /** The value of `--run <name>`. */
  runName?: string | undefined
  /** The label of its reference IDs, see `runLabel`; null or absent for none. */
  label?: string | null
  /** Start another drop of a finished run. */
  again?: boolean | undefined
  /** Mint new rows in addition to sent rows that are no longer in the manifest. */
  newRows?: boolean | undefined
  /** Resume this drop of the run; the newest by default. */
  generation?: number
  /** Retry rows that the server refused, or whose NFT failed. */
  retryFailed?: boolean
  /** Retry rows that reconciling found absent. */
  retryAbsent?: boolean
  /** Send nothing: resolve the unknown rows, and poll the accepted ones. */
  reconcileOnly?: boolean
  /**
   * Treat rows of a new run that are already in the collection as minted by the run, even if they have another label.
   */
  adopt?: boolean | undefined
  /** Permit rows that have the values, or the whole content, of other rows. */
  allowExchanged?: boolean | undefined
  /** Take rows that the server knows by their reference IDs as minted, even if their content was edited since. */
  keepEdited?: boolean
  /** The keys of rows that are still edited in the manifest, if a run continues with its recorded rows. */
  editedRows?: ReadonlySet<string> | undefined
  /** Don't compare the collection with the rows before they are sent. */
  skipLookup?: boolean | undefined
  /** Metadata key that gets a unique public value in each row, by which the row is found again. */
  markerKey?: string | undefined
  /** The user's decisions on rows with an unknown outcome: the NFT of the row, or null if it wasn't minted. */
  settle?: readonly { key: string; nftGdnId: string | null }[] | undefined
  /**
   * The options that the manifest was read with, as JSON, so that a later command can compare the manifest with the
   * run.
   */
  reading?: Readonly<Record<string, unknown>>
  /** The most that the transactions of the run may cost, in wei. It is kept with the run. */
  maxCost?: bigint | undefined
  /** Maximum gas price of the run, in wei. It is kept with the run. */
  maxFee?: bigint | undefined
  /** Mint dynamic NFTs, with creatednft. It is kept with the run. */
  dynamic?: boolean | undefined
  /** Whether the server has creatednft without announcing it. */
  hasCreatednft?: boolean | undefined
  /** Rows per request; 50 by default. */
  chunkSize?: number | undefined
  /** Keep the manifest's order of rows. Then one request at a time is in flight. */
  inOrder?: boolean | undefined
  /** Return when every row was accepted. */
  noWait?: boolean | undefined
  /** Limit of the wait after the last acceptance, in milliseconds; 5 minutes by default. */
  timeoutMs?: number | undefined
  /** Local files uploaded at a time; 8 by default. */
  uploadConcurrency?: number | undefined
  /** Requests in flight at a time; 2 by default. */
  inFlight?: number
  /** Rate that the dry run assumes; by default the limit in the API reference. */
  requestsPerSecond?: number | undefined
  /**
   * How long the listing of the collection may lag before unknown rows are decided by it, in milliseconds. By default
   * 20 times its observed lag, and at least 30 s.
   */
  listingWaitMs?: number | undefined
  /** How long the server may be unreachable before the run stops, in milliseconds; 2 minutes by default. */
  unreachableMs?: number
  /** Aborted by Ctrl-C. A reason that is a GdnError (`interrupted`, `terminated`) decides the exit code. */
  signal?: AbortSignal
}

export interface BatchDeps {
  client: BatchClient
  pacer: BatchPacer
  /** Reads the manifest from its beginning; called once. Null resumes with the stored rows. */
  readManifest: (() => AsyncIterable<ManifestItem>) | null
  /**
   * Called first, with the limit of the run's cost in wei, and the requests to be sent. Throws to cancel. Returns the
   * limit that each request carries instead; null for none.
   */
  permit?(planned: PlannedEvent, maxCost: bigint | null, mints: PlannedMints): Promise<bigint | null>
  /**
   * Called before anything is written or sent, with the limit that requests of the run carry, and the requests to be
   * sent. Throws to cancel.
   */
  confirm?(planned: PlannedEvent, limit: RunLimit, mints: PlannedMints): Promise<void>
  /** Called once the limit of the run is set, before anything that costs is sent. */
  beforeSending?(planned: PlannedEvent, limit: RunLimit): Promise<void>
  /**
   * Called while the server accepts nothing because it can't mint. Returns the funds that a signer lacks for all rows,
   * including those not sent yet. Returns null if funds aren't the reason.
   */
  shortage?(): Promise<string | null>
  /**
   * Called while the server accepts no more rows because of the run's limit. Returns the limit that is enough for all
   * rows, in coins; null if it isn't known.
   */
  sufficientLimit?(): Promise<string | null>
  /** Called for every event, to show progress. */
  onEvent?(event: BatchEvent): void
  /** A monotonic clock; `performance.now` by default. */
  now?: Now
  /** Waits. Rejects with the signal's reason. */
  sleep?(ms: number, signal?: AbortSignal): Promise<void>
  /** Returns idempotency keys; random UUIDs by default. */
  newKey?(): string
  /** Opens the database of the state directory; tests pass another driver. */
  openDatabase?(path: string): RawDatabase
  /** How heartbeats of other processes are judged; for tests. */
  timing?: LockTiming
}

/**
 * The dependencies of the checks before a run. Without a client, as in a dry run with `--no-lookup`, no server is
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
  /** Number of rows in the largest request. */
  largest: number
  each(): AsyncIterable<PlannedMint>
  /** Returns a digest of the rows in the requests. */
  digest(): Promise<string>
}

/** A request of a plan: so many NFTs for one receiver. With a sender, they are minted to it and transferred. */
export interface PlannedMint {
  receiver: string
  sender: string | null
  count: number
}

export type RowStatus = 'pending' | 'unknown' | 'accepted' | 'deployed' | 'failed'

export type RowCounts = Record<RowStatus, number> & { total: number }

/** Names of a run: `id` for machines, `name` for people; either finds it. */
export interface RunRef {
  id: string
  name: string
}

/** A field of a row before and after an edit; null where the row has no such field. */
export interface FieldChange {
  field: string
  from: string | null
  to: string | null
}

/** A row that was sent and is no longer in the manifest, with the new row that resembles it most. */
export interface EditedPair {
  line: number
  title: string
  now: { line: number; title: string } | null
  changes: FieldChange[]
}

/** The changes in the manifest since the run stored its rows. */
export interface ManifestChanges {
  added: number
  /** Rows with an `id` whose content changed; `keptAccepted` of them won't be sent again. */
  changed: number
  keptAccepted: number
  removed: number
  /** The first rows, by ID or title, for people. */
  examples: { kind: 'added' | 'changed' | 'removed'; key: string; line: number }[]
}

/** A row with the content of an earlier one, and the lines of both. */
export interface DuplicateRow {
  line: number
  equals: number
}

export interface Duplicates {
  count: number
  /** The first of them. */
  rows: DuplicateRow[]
}

export interface PlannedEvent {
  type: 'planned'
  run: RunRef
  /** Whether the run had begun before. */
  resumed: boolean
  rows: RowCounts
  /** Requests to be sent now. */
  requests: number
  receivers: number
  /** Whether the order of token IDs will differ from the manifest's. */
  reordered: boolean
  files: number
  changes: ManifestChanges
  /** Notes for people about checks that were impossible beforehand. */
  notes?: string[]
  /** Rows that equal an earlier one, and that the run has neither planned nor sent. */
  duplicates?: Duplicates
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
  /** Nothing is sent for this time. */
  | {
      type: 'holding'
      reason: 'rate_limited' | 'not_ready' | 'max_cost' | 'unreachable' | 'unknown'
      ms: number
      message: string
    }
  /** The rows by state, after each change. */
  | { type: 'rows'; counts: RowCounts }
  /**
   * Everything was sent; polling until the accepted rows are deployed or failed. `reason`: what the server waits for;
   * null if nothing is known.
   */
  | { type: 'waiting'; pending: number; reason?: string | null }
  /** Before a new run: how many unknown NFTs of the collection were compared with its rows. */
  | { type: 'looking_up'; done: number; total: number }
  /** Resolving unknown rows. `ms`: how long it still waits; `done` of `total`: NFTs read. */
  | { type: 'reconciling'; phase: 'waiting' | 'listing' | 'reading'; ms: number; done: number; total: number }
  | { type: 'reconciled'; adopted: number; absent: number; undecided: number }
  /** The server rejected a request for its size; later requests are smaller. */
  | { type: 'resized'; chunkSize: number; message: string }

/** One row of the results, in the manifest's order. Field names are the API's. */
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
  /** Whether its NFT was burned since, as far as this machine knows. Its status is that of the mint. */
  burned: boolean
}

export interface BatchSummary {
  run: RunRef
  counts: RowCounts
  /** Deployed rows whose NFTs were burned since, as far as this machine knows. */
  burned: number
  /** Requests sent by this call, and how many attempts they took. */
  requests: number
  attempts: number
  changes: ManifestChanges
  /** Why the run ended early, if it did. Another call resumes it. */
  stopped: { code: ErrorCode; message: string; hint: string | null } | null
  /** The first 50 rows of each kind. */
  unknownRows: { key: string; line: number }[]
  failedRows: { key: string; line: number; error: string }[]
  pendingRows: { key: string; line: number }[]
  /** The unknown rows that aren't in the collection, and those that can't be decided. */
  absentRows: { key: string; line: number; reason: string }[]
  undecidedRows: { key: string; line: number; reason: string }[]
  /** Rows with a second NFT: of another request of this run or another run, or of another client. */
  doubledRows: { key: string; line: number; reason: string; nft_gdn_id: string }[]
  /** Why the server does not mint accepted rows yet; null if nothing is known. */
  waiting?: string | null
  /** The result of reconciling, if there was anything to reconcile. `basis`: what absence relies on. */
  reconciled: { adopted: number; basis: 'later_rows' | 'time_alone' | null } | null
  exitCode: ExitCode
}

/** The plan of a run that passed its checks. Nothing was sent, and nothing was written to the state directory. */
export interface DryRun {
  run: RunRef
  rows: RowCounts
  requests: number
  /** Bytes of the request bodies; a local file counts with its future URL. */
  bytes: number
  receivers: number
  files: number
  reordered: boolean
  /** The order of the token IDs, as a sentence. */
  order: string
  /** The duration at the rate limit, without the wait for deployment. */
  seconds: number
  changes: ManifestChanges
  /** Notes that are shown to the user before the run starts. */
  notes: readonly string[]
  /** The first request as it would be sent. */
  firstRequest: { endpoint: MintEndpoint; body: unknown } | null
}

/** A run as the list shows it. */
export interface RunInfo extends RunRef {
  /** The same for every drop of one run. */
  family: string
  origin: string
  /** The server's address when the run began. */
  url: string
  /** The ID of its backend; null where none is recorded. */
  backendId: string | null
  blockchain: Blockchain
  contractAddress: string
  manifestPath: string | null
  runName: string | null
  /** 1 for the first drop, 2 after `--again`, … */
  generation: number
  chunkSize: number
  inOrder: boolean
  startedAt: string
  /** The options that its manifest was last read with. */
  reading: Readonly<Record<string, unknown>>
  /** Whether a process works on it now. */
  running: boolean
}

/** A run of this machine, for reading. Another process may be working on it. */
export interface Run extends RunInfo {
  stateDir: string
}

export interface RunStatus extends RunInfo {
  counts: RowCounts
  /** Deployed rows whose NFTs were burned since, as far as this machine knows. */
  burned: number
}

/** The items of a manifest; see `ManifestReading` for its other features. */
export type Items = AsyncIterable<ManifestItem> & Partial<Pick<ManifestReading, 'blocks' | 'digest' | 'fingerprint'>>
