import type { Blockchain } from '../api/blockchains.ts'
import type { CallOptions, RequestOf, ResponseOf, UploadOptions } from '../client/api-client.ts'
import type { SeenBackend } from '../client/backend.ts'
import type { ErrorCode, GdnError } from '../core/errors.ts'
import type { ExitCode } from '../core/exit-codes.ts'
import type { LockTiming } from '../core/lock-holder.ts'
import type { Now } from '../core/time.ts'
import type { ManifestItem, ManifestReading } from '../manifest/read.ts'
import type { RawDatabase } from '../sqlite/driver.ts'

/** The endpoints that a batch sends its rows to. */
export type MintEndpoint = 'createnft' | 'createnfttrans'

/** The endpoints that a batch asks. */
export type ReadEndpoint = 'getnfts' | 'getnftgdnids' | 'getreferences'

/** What one attempt came to. `not_sent`: not a byte left this machine. `cut`: nobody knows. */
export type SendResult =
  | {
      kind: 'answered'
      status: number
      headers: Readonly<Record<string, string>>
      /** Undefined where the body is no JSON. */
      json: unknown
      /** The body where it is no JSON. */
      text?: string
    }
  /** `stop`: another backend answers at the address, so sending again can't help. */
  | { kind: 'not_sent'; reason: string; stop?: GdnError }
  | { kind: 'cut'; reason: string }

/** What the batch needs of the client; `ApiClient` is one. */
export interface BatchClient {
  /** One attempt with exactly these bytes; never throws for what network or server did. */
  send(
    endpoint: MintEndpoint,
    body: Uint8Array,
    options: { idempotencyKey: string; run: string; signal?: AbortSignal | undefined },
  ): Promise<SendResult>
  /** Details of NFTs, or the ids of a collection's, at a pace that the server allows; throws GdnError. */
  call<Name extends ReadEndpoint>(
    endpoint: Name,
    request: RequestOf<Name>,
    options?: CallOptions,
  ): Promise<ResponseOf<Name>>
  /** Throws GdnError where the server takes no files, or the file isn't what it was when it was hashed. */
  upload(path: string, name: string, options?: UploadOptions): Promise<{ url: string }>
  /** Whether the server said that it honours Idempotency-Key; null until it has answered. */
  supportsIdempotency(): boolean | null
  /** Whether the server said that it creates each reference ID once; null until it has answered. */
  supportsReferences(): boolean | null
  /** Asks the server for both where they aren't known yet, or with `refresh`. Null when it gave no answer. */
  learnIdempotency(options?: CallOptions & { refresh?: boolean }): Promise<boolean | null>
}

/** Leave to send, in the order asked for. `done` is called when the answer, or the lack of one, is known. */
export interface BatchPacer {
  take(endpoint: MintEndpoint, signal?: AbortSignal): Promise<{ done(): void }>
  /** Holds everything of that endpoint for so long: the server said 429. */
  hold(endpoint: MintEndpoint, ms: number): void
}

export interface BatchOptions {
  /** The folder of the database. */
  stateDir: string
  /** What tells the server from others: its origin (`https://host[:port]`), or `backend:<id>` for one on this machine. */
  origin: string
  /** The backend that answers there now; without it the server has no ID. */
  backend?: SeenBackend
  blockchain: Blockchain
  contractAddress: string
  /** Absolute real path; null for standard input, which needs `runName`. */
  manifestPath: string | null
  /** `--run NAME`. */
  runName?: string
  /** Order a second drop of a finished run. */
  again?: boolean
  /** Mint new rows in addition to sent rows that are not in the manifest anymore. */
  newRows?: boolean
  /** Go on with this drop of the run; without it, the newest. */
  generation?: number
  /** Send rows again that the server refused, or whose NFT failed. */
  retryFailed?: boolean
  /** Send rows again that reconciling found absent. */
  retryAbsent?: boolean
  /** Send nothing: find out what became of the unknown rows, and of the accepted ones. */
  reconcileOnly?: boolean
  /** Take rows of a new run that are in the collection already as minted by it. */
  adopt?: boolean
  /** Don't look into the collection for rows that are about to be sent. */
  skipLookup?: boolean
  /** Metadata key that gets a value of its own in each row, by which the row is found again. It becomes public. */
  markerKey?: string
  /** A person's word on rows of unknown outcome: this NFT is that row, or null: it wasn't minted. */
  settle?: readonly { key: string; nftGdnId: string | null }[]
  /** The options that the manifest was read with, as JSON: a later command can compare the manifest with the run. */
  reading?: Readonly<Record<string, unknown>>
  /** Rows to a request; 50. */
  chunkSize?: number
  /** Keep the manifest's order of rows; then one request at a time is under way. */
  inOrder?: boolean
  /** Return when every row was accepted. */
  noWait?: boolean
  /** Bounds the waiting after the last acceptance, in milliseconds; 5 minutes. */
  timeoutMs?: number
  /** Local files uploaded at a time; 8. */
  uploadConcurrency?: number
  /** Requests under way at a time; 2. */
  inFlight?: number
  /** What the dry run reckons with; the limit of the reference. */
  requestsPerSecond?: number
  /**
   * How long the collection's listing is given to catch up before its word is taken on unknown rows, in milliseconds;
   * 20 times as long as it was seen to lag, at least 30 seconds.
   */
  listingWaitMs?: number
  /** How long the server may be out of reach before the run stops, in milliseconds; 2 minutes. */
  unreachableMs?: number
  /** Ctrl-C. A reason that is a GdnError (`interrupted`, `terminated`) decides the exit code. */
  signal?: AbortSignal
}

export interface BatchDeps {
  client: BatchClient
  pacer: BatchPacer
  /** Reads the manifest from its beginning; called once. Null goes on with the rows as the run last kept them. */
  readManifest: (() => AsyncIterable<ManifestItem>) | null
  /** Called before anything is written or sent; throws to leave it at that. */
  confirm?(planned: PlannedEvent): Promise<void>
  /** Told of everything that happens, for progress. */
  onEvent?(event: BatchEvent): void
  /** On a clock that doesn't step; `performance.now`. */
  now?: Now
  /** Rejects with the signal's reason. */
  sleep?(ms: number, signal?: AbortSignal): Promise<void>
  /** Idempotency keys; random UUIDs. */
  newKey?(): string
  /** Opens the database of the state directory; tests put a driver of their own in. */
  openDatabase?(path: string): RawDatabase
  /** How signs of life of other processes are judged; for tests. */
  timing?: LockTiming
}

/** What a start is checked with; without a client, as in a dry run with `--no-lookup`, the server is not asked. */
export type CheckDeps = Omit<BatchDeps, 'client' | 'pacer'> & { client: BatchDeps['client'] | null }

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

/** A row that was sent and is not in the manifest anymore, with the new row that resembles it most. */
export interface EditedPair {
  line: number
  title: string
  now: { line: number; title: string } | null
  changes: FieldChange[]
}

/** What changed in the manifest since the run kept its rows. */
export interface ManifestChanges {
  added: number
  /** Rows with an `id` whose content is another now; `keptAccepted` of them won't be sent again. */
  changed: number
  keptAccepted: number
  removed: number
  /** The first of each, for people. */
  examples: { kind: 'added' | 'changed' | 'removed'; key: string; line: number }[]
}

export interface PlannedEvent {
  type: 'planned'
  run: RunRef
  /** Whether the run had begun before. */
  resumed: boolean
  rows: RowCounts
  /** Requests that will be sent now. */
  requests: number
  receivers: number
  /** Whether the order of token ids will differ from the manifest's. */
  reordered: boolean
  files: number
  changes: ManifestChanges
  /** What couldn't be found out beforehand, for people. */
  notes?: string[]
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
  /** Nothing is sent for so long. */
  | { type: 'holding'; reason: 'rate_limited' | 'unreachable' | 'unknown'; ms: number; message: string }
  /** The rows by state, after each change. */
  | { type: 'rows'; counts: RowCounts }
  /** Everything was sent; sweeping until the accepted rows are deployed or failed. */
  | { type: 'waiting'; pending: number }
  /** Before a new run: how many of the collection's NFTs that the state does not know were compared with its rows. */
  | { type: 'looking_up'; done: number; total: number }
  /** Finding out what became of unknown rows. `ms`: how long it still waits; `done` of `total`: NFTs read. */
  | { type: 'reconciling'; phase: 'waiting' | 'listing' | 'reading'; ms: number; done: number; total: number }
  | { type: 'reconciled'; adopted: number; absent: number; undecided: number }
  /** The server refused a request for its size; no later one is larger. */
  | { type: 'resized'; chunkSize: number; message: string }

/** One row of the results, in the manifest's order. Field names are the API's. */
export interface ResultRow {
  key: string
  line: number
  /** Null for an adopted row that left the manifest. */
  title: string | null
  status: RowStatus
  nft_gdn_id: string | null
  token_id: string | null
  contract_address: string
  receiver_wallet_address: string
  metadata_url: string | null
  error: string | null
}

export interface BatchSummary {
  run: RunRef
  counts: RowCounts
  /** Requests sent by this call, and how many attempts they took. */
  requests: number
  attempts: number
  changes: ManifestChanges
  /** Why the run ended before its time, if it did. Calling again goes on from there. */
  stopped: { code: ErrorCode; message: string; hint: string | null } | null
  /** The first 50 rows of each kind. */
  unknownRows: { key: string; line: number }[]
  failedRows: { key: string; line: number; error: string }[]
  pendingRows: { key: string; line: number }[]
  /** Of the unknown rows: those that aren't in the collection, and those of which it can't be told. */
  absentRows: { key: string; line: number; reason: string }[]
  undecidedRows: { key: string; line: number; reason: string }[]
  /** Rows found absent and sent again, of which another NFT turned up: the first request's, or another client's. */
  doubledRows: { key: string; line: number; nft_gdn_id: string }[]
  /** What reconciling came to, where there was something to reconcile. `basis`: what absence rests on. */
  reconciled: { adopted: number; basis: 'later_rows' | 'time_alone' | null } | null
  exitCode: ExitCode
}

/** The plan of a run whose checks passed. Nothing was sent, and nothing was written to the state directory. */
export interface DryRun {
  run: RunRef
  rows: RowCounts
  requests: number
  /** Bytes of the request bodies; a local file counts with the URL that it will get. */
  bytes: number
  receivers: number
  files: number
  reordered: boolean
  /** In which order token ids will come, as a sentence. */
  order: string
  /** At the rate limit, without the waiting for deployment. */
  seconds: number
  changes: ManifestChanges
  /** What a person should know before the run starts. */
  notes: readonly string[]
  /** The first request as it would be sent. */
  firstRequest: { endpoint: MintEndpoint; body: unknown } | null
}

/** A run as the list shows it. */
export interface RunInfo extends RunRef {
  /** The same for every drop of one run. */
  family: string
  origin: string
  /** Where the server was when the run began. */
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
  /** The options that its manifest was read with first. */
  reading: Readonly<Record<string, unknown>>
  /** Whether a process works on it now. */
  running: boolean
}

/** A run of this machine, to be looked at. Another process may be working on it. */
export interface Run extends RunInfo {
  stateDir: string
}

export interface RunStatus extends RunInfo {
  counts: RowCounts
}

/** What is read of a manifest; see `ManifestReading` for what it can do beside giving item by item. */
export type Items = AsyncIterable<ManifestItem> & Partial<Pick<ManifestReading, 'blocks' | 'digest' | 'fingerprint'>>
