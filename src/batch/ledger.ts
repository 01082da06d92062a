import { bytes, integers } from './columns.ts'
import type { RecordFile } from './journal/read.ts'
import type {
  AnswerRecord,
  BackendRecord,
  FoldedIntent,
  FoldedRecord,
  FoundRecord,
  IntentRecord,
  JournalRecord,
  LostRecord,
  NftEndRecord,
  OrderRecord,
  ReconciledRecord,
} from './journal/records.ts'
import type { Span } from './lines.ts'
import { IdSet } from './reconcile/id-set.ts'
import { isContentKey } from './row-key.ts'
import { contentNumber, ROW, type RowState, RowTable } from './row-table.ts'
import { SpanTable } from './spans.ts'
import type { RowCounts } from './types.ts'

/** States of a request: under way, none known, and what its answer said. `open` when a run starts means unknown. */
export const REQUEST = { open: 1, unknown: 2, noEffect: 3, accepted: 4, refused: 5 } as const
type RequestState = (typeof REQUEST)[keyof typeof REQUEST]

const CLAIMED: ReadonlySet<RowState> = new Set([ROW.pending, ROW.unknown, ROW.accepted, ROW.deployed])
const ENDED: ReadonlySet<RowState> = new Set([ROW.deployed, ROW.failed, ROW.refused, ROW.dropped])

/** What the answer to a request is, or what stands in its place. */
export type KnownAnswer = AnswerRecord | OrderRecord | ReconciledRecord | FoundRecord | LostRecord

/**
 * What is known of a run, folded from its journal. The rules of outcomes are here: they hold for what the journal
 * tells at start and for what happens now alike. Numbers only; texts are read from the files by their places.
 */
export class Ledger {
  readonly rows = new RowTable()
  readonly #rowRequest = integers()
  readonly #rowPosition = integers()
  readonly #ends = new SpanTable()
  readonly #requestState = bytes()
  readonly #requestStart = integers()
  readonly #requestSize = integers()
  readonly #intents = new SpanTable()
  readonly #answers = new SpanTable()
  /** Rows of the requests, one request after the other. */
  readonly #requestRows = integers()
  /** The last request there was when a request became unknown: whatever came after it was sent later. */
  readonly #requestEnd = integers()
  readonly #replaced = bytes()
  /** Rows that the last start may send again. */
  #retried = bytes()
  /** Every id that this run was given. */
  readonly ids = new IdSet()
  /** Rows of which two sendings were taken, with the id of the earlier one. */
  readonly doubled = new Map<number, string>()
  #largest = Number.POSITIVE_INFINITY
  /** URL of each uploaded file, by its SHA-256. */
  readonly uploads = new Map<string, string>()
  /** IDs that a restored backend no longer knew. */
  readonly lost = new Set<string>()
  /** Rows that were deployed before the backend lost them. */
  readonly #lostDeployed = new Set<number>()
  /** The backend as last recorded; null if only the journal's header has it. */
  backend: BackendRecord | null = null
  /** The last request that was sent before the backend was restored last. */
  #restoredAfter = 0
  /** Rows that the manifest had when the run was started last. */
  plannedRows = 0
  /** Whether the end of the run was told. */
  ended = false

  /** The highest number a request has. */
  get lastRequest(): number {
    return Math.max(0, this.#requestState.length - 1)
  }

  /** Folds in what the journal says. */
  apply(record: JournalRecord | FoldedRecord, span: Span): void {
    switch (record.t) {
      case 'plan':
        // A start of the run: whoever was sending before is gone.
        this.settleOpen()
        this.plannedRows = record.rows
        for (const [n, position] of record.dropped) this.rows.drop(this.#rowAt(n, position))
        for (const [n, position] of record.replaced ?? []) this.#replaced.set(this.#rowAt(n, position), 1)
        this.#retried = bytes()
        for (const [n, position] of record.retried ?? []) this.#retried.set(this.#rowAt(n, position), 1)
        if (record.retried !== undefined) this.ended = false
        break
      case 'upload':
        this.uploads.set(record.sha256, record.url)
        break
      case 'intent':
        this.#applyIntent(record, span)
        break
      case 'again':
        this.#setRequest(record.n, REQUEST.open, ROW.unknown)
        break
      case 'answer':
        this.#applyAnswer(record, span)
        break
      case 'order':
        this.#applyOrder(record, span)
        break
      case 'reconciled':
        this.#applyReconciled(record, span)
        break
      case 'found':
        this.#applyFound(record, span)
        break
      case 'nft':
        this.#applyEnd(record, span)
        break
      case 'backend':
        this.backend = record
        if (record.restored) this.#reopenEnded()
        break
      case 'lost':
        this.#applyLost(record, span)
        break
      case 'end':
        this.ended = true
    }
  }

  /** Requests that nobody is sending any more but that have no answer: what they did is unknown. */
  settleOpen(): void {
    for (let n = 1; n <= this.lastRequest; n++) {
      if (this.#requestState.get(n) !== REQUEST.open) continue
      this.#requestState.set(n, REQUEST.unknown)
      this.#requestEnd.set(n, this.lastRequest)
    }
  }

  state(row: number): RowState {
    return this.rows.state(row)
  }

  /** So many rows to a request, or as many as the server takes. */
  chunkSize(wanted: number): number {
    return Math.min(wanted, this.#largest)
  }

  /** Whether the row left the manifest after it was sent, and `--new-rows` confirmed that. */
  isReplaced(row: number): boolean {
    return this.#replaced.get(row) === 1
  }

  /** Whether the run has minted the row, or may do so without another claim. */
  isClaimed(row: number): boolean {
    return CLAIMED.has(this.state(row)) || this.#retried.get(row) === 1
  }

  /** Pending rows that were sent before, with an outcome that let them be sent again. */
  retriedRows(): [request: number, position: number][] {
    const retried: [number, number][] = []
    if (this.lastRequest === 0) return retried
    for (let row = 0; row < this.rows.size; row++) {
      const sent = this.state(row) === ROW.pending ? this.sentBy(row) : null
      // After no effect the journal, too, says that the row is pending.
      if (sent !== null && this.requestState(sent.request) !== REQUEST.noEffect) {
        retried.push([sent.request, sent.position])
      }
    }
    return retried
  }

  /** The request a row went by last, and its place in it; null if it was never sent. */
  sentBy(row: number): { request: number; position: number } | null {
    const request = this.#rowRequest.get(row)
    return request === 0 ? null : { request, position: this.#rowPosition.get(row) }
  }

  /** Whether the row's request has no answer yet. */
  isUnderWay(row: number): boolean {
    return this.requestState(this.#rowRequest.get(row)) === REQUEST.open
  }

  requestState(n: number): RequestState {
    return this.#requestState.get(n) as RequestState
  }

  requestSize(n: number): number {
    return this.#requestSize.get(n)
  }

  /** The rows of a request, in its order. */
  rowsOf(n: number): number[] {
    const start = this.#requestStart.get(n)
    const rows: number[] = []
    for (let at = start; at < start + this.requestSize(n); at++) rows.push(this.#requestRows.get(at))
    return rows
  }

  /** Whether the answer to a row is still this request's to give: it may have gone by a later one since. */
  isCurrent(row: number, n: number): boolean {
    return this.#rowRequest.get(row) === n
  }

  /** Whether nothing will become of a request any more, whatever the collection shows. */
  isOver(n: number): boolean {
    return this.rowsOf(n).every((row) => !this.isCurrent(row, n) || ENDED.has(this.state(row)))
  }

  /** Whether all of a request is unknown still: nothing of it was found, given up or sent anew. */
  isWhollyUnknown(n: number): boolean {
    return this.rowsOf(n).every((row) => this.isCurrent(row, n) && this.state(row) === ROW.unknown)
  }

  /** Whether a request may go again with its key: its outcome is unknown, and the backend still has the key's record. */
  mayBeSentAgain(n: number): boolean {
    return n > this.#restoredAfter && this.isWhollyUnknown(n)
  }

  /** Whether a row was deployed, as far as this run knew, before the backend was restored and lost it. */
  wasDeployed(row: number): boolean {
    return this.#lostDeployed.has(row)
  }

  /** Whether the one request was sent after the outcome of the other had become unknown. */
  isLater(n: number, thanUnknown: number): boolean {
    return n > this.#requestEnd.get(thanUnknown)
  }

  /** Requests in a state, lowest first. */
  *requestsIn(state: RequestState): Generator<number> {
    for (let n = 1; n <= this.lastRequest; n++) if (this.#requestState.get(n) === state) yield n
  }

  readIntent(file: RecordFile, n: number): Promise<IntentRecord> {
    return file.read(this.#intents.get(n), 'intent')
  }

  readAnswer(file: RecordFile, n: number): Promise<KnownAnswer> {
    return file.read(this.#answers.get(n), 'answer', 'order', 'reconciled', 'found', 'lost')
  }

  /** The bytes that a request was sent with; null where its rows weren't sent but adopted. */
  async readBody(file: RecordFile, n: number): Promise<string | null> {
    const record = await this.#readRequest(file, n)
    return record.t === 'found' ? null : record.body
  }

  #readRequest(file: RecordFile, n: number): Promise<IntentRecord | FoundRecord> {
    return file.read(this.#intents.get(n), 'intent', 'found')
  }

  /** Key, line and content of a request's rows, and for whom they are. */
  async readRows(file: RecordFile, n: number): Promise<Pick<FoundRecord, 'rows' | 'receiver'>> {
    const record = await this.#readRequest(file, n)
    if (record.t === 'found') return record
    const { receiver_wallet_address } = JSON.parse(record.body) as { receiver_wallet_address: string }
    return { rows: record.rows, receiver: receiver_wallet_address }
  }

  hasAnswer(n: number): boolean {
    return this.#answers.has(n)
  }

  /** How a row's NFT ended; null while it hasn't. */
  async readEnd(file: RecordFile, row: number): Promise<NftEndRecord | null> {
    return this.#ends.has(row) ? file.read(this.#ends.get(row), 'nft') : null
  }

  /** `live`: a process is sending now, so what is under way isn't unknown yet. */
  counts(live = false): RowCounts {
    const { rows } = this
    const known = rows.size - rows.count(ROW.dropped)
    let underWay = 0
    if (live) for (const n of this.requestsIn(REQUEST.open)) underWay += this.requestSize(n)
    const total = Math.max(known, this.plannedRows)
    return {
      total,
      pending: rows.count(ROW.pending) + underWay + (total - known),
      unknown: rows.count(ROW.unknown) + rows.count(ROW.absent) - underWay,
      accepted: rows.count(ROW.accepted),
      deployed: rows.count(ROW.deployed),
      failed: rows.count(ROW.failed) + rows.count(ROW.refused),
    }
  }

  #applyIntent(record: FoldedIntent | FoundRecord, span: Span): void {
    const { n } = record
    const packed = 'packed' in record ? record.packed : null
    const rows = 'packed' in record ? [] : record.rows
    const size = packed?.count ?? rows.length
    this.ended = false
    this.#requestStart.set(n, this.#requestRows.length)
    this.#requestSize.set(n, size)
    this.#intents.set(n, span)
    if (packed !== null) this.rows.readHashes(packed.hashes, size)
    else this.rows.readKeys(rows.map(([key]) => key))
    for (let position = 0; position < size; position++) {
      const row = this.#enterSent(position, packed?.lines[position] ?? 0, rows[position])
      this.#requestRows.push(row)
      this.#rowRequest.set(row, n)
      this.#rowPosition.set(row, position)
      this.#ends.clear(row)
      this.#retried.set(row, 0)
      this.rows.setState(row, ROW.unknown)
    }
    this.#requestState.set(n, REQUEST.open)
  }

  /** A row of an intent: with its key and content, or packed, and then it is named by its content. */
  #enterSent(position: number, packedLine: number, row: IntentRecord['rows'][number] | undefined): number {
    if (row === undefined) return this.rows.enterRead(position, packedLine).row
    const [key, line, content] = row
    const entered = this.rows.enterRead(position, line, isContentKey(key) ? 0 : contentNumber(content)).row
    this.rows.setContent(entered, content)
    return entered
  }

  #applyFound(record: FoundRecord, span: Span): void {
    this.#applyIntent(record, span)
    this.#keepAnswer(record, span)
    this.#setRequest(record.n, REQUEST.accepted, ROW.accepted)
    for (const [n, position] of record.from ?? []) this.rows.setState(this.#rowAt(n, position), ROW.dropped)
  }

  /** Remembers where an answer stands and which ids it gave. */
  #keepAnswer({ n, ids = [] }: { n: number; ids?: readonly (string | null)[] | undefined }, span: Span): void {
    this.#answers.set(n, span)
    this.ids.addLater(ids)
    if (this.lost.size > 0) for (const id of ids) if (id !== null) this.lost.delete(id)
  }

  #applyAnswer(record: AnswerRecord, span: Span): void {
    const { n } = record
    // Once unknown, only success resolves it: a later refusal says nothing of the attempt that came before.
    if (this.requestState(n) === REQUEST.unknown && record.outcome !== 'accepted') return
    this.#keepAnswer(record, span)
    switch (record.outcome) {
      case 'accepted':
        this.#setRequest(n, REQUEST.accepted, ROW.accepted)
        break
      case 'refused':
        this.#setRequest(n, REQUEST.refused, ROW.refused)
        break
      case 'no_effect':
        this.#setRequest(n, REQUEST.noEffect, ROW.pending)
        if (record.status === TOO_LARGE) this.#largest = Math.min(this.#largest, halfOf(this.requestSize(n)))
        break
      case 'unknown':
        this.#requestEnd.set(n, this.lastRequest)
        this.#setRequest(n, REQUEST.unknown, ROW.unknown)
    }
  }

  #applyOrder(record: OrderRecord, span: Span): void {
    this.#keepAnswer(record, span)
    for (const [position, row] of this.rowsOf(record.n).entries()) {
      const id = record.ids[position] ?? null
      if (this.isCurrent(row, record.n)) this.rows.setState(row, id === null ? ROW.unknown : ROW.accepted)
    }
  }

  #applyReconciled(record: ReconciledRecord, span: Span): void {
    const { n } = record
    this.#keepAnswer(record, span)
    const absent = new Set(record.absent.map(([position]) => position))
    for (const [position, row] of this.rowsOf(n).entries()) {
      const id = record.ids[position] ?? null
      const state = this.state(row)
      if (!this.isCurrent(row, n)) {
        if (id !== null) this.doubled.set(row, id)
      } else if (state === ROW.unknown || state === ROW.absent) {
        this.rows.setState(row, id !== null ? ROW.accepted : absent.has(position) ? ROW.absent : ROW.unknown)
      }
    }
  }

  #applyLost(record: LostRecord, span: Span): void {
    const { n } = record
    this.ended = false
    this.#keepAnswer(record, span)
    this.#requestState.set(n, REQUEST.unknown)
    this.#requestEnd.set(n, this.lastRequest)
    for (const [position, id] of record.lost) {
      this.lost.add(id)
      const row = this.#rowAt(n, position)
      if (!this.isCurrent(row, n)) continue
      if (this.state(row) === ROW.deployed) this.#lostDeployed.add(row)
      this.#ends.clear(row)
      this.rows.setState(row, ROW.unknown)
    }
  }

  /** A restored backend may bring NFTs to another end than before: they count as accepted until it says so. */
  #reopenEnded(): void {
    this.ended = false
    this.#restoredAfter = this.lastRequest
    // Stored files may be gone as well.
    this.uploads.clear()
    for (let n = 1; n <= this.lastRequest; n++) {
      for (const row of this.rowsOf(n)) {
        const state = this.state(row)
        if (!this.isCurrent(row, n) || (state !== ROW.deployed && state !== ROW.failed)) continue
        this.#ends.clear(row)
        this.rows.setState(row, ROW.accepted)
      }
    }
  }

  #applyEnd(record: NftEndRecord, span: Span): void {
    const row = this.#rowAt(record.n, record.p)
    if (!this.isCurrent(row, record.n)) return
    this.#ends.set(row, span)
    this.rows.setState(row, record.status === 'deployed' ? ROW.deployed : ROW.failed)
  }

  #rowAt(n: number, position: number): number {
    return this.#requestRows.get(this.#requestStart.get(n) + position)
  }

  #setRequest(n: number, request: RequestState, state: RowState): void {
    this.#requestState.set(n, request)
    for (const row of this.rowsOf(n)) if (this.isCurrent(row, n)) this.rows.setState(row, state)
  }
}

const TOO_LARGE = 413

/** Rows to a request after one of so many was too large. */
export const halfOf = (rows: number): number => Math.max(1, Math.floor(rows / 2))
