import { GdnError } from '../core/errors.ts'
import type { ManifestItem, ManifestReading } from '../manifest/read.ts'
import type { ManifestIssue, ManifestRow } from '../manifest/row.ts'
import { type ByteColumn, bytes, integers, Sequence } from './columns.ts'
import { RowCollector } from './kept-rows.ts'
import type { Ledger } from './ledger.ts'
import { type Plan, planOf } from './plan.ts'
import { type RowKey, rowKey, shownKey } from './row-key.ts'
import { contentNumber, ROW, type RowState } from './row-table.ts'
import { hashOfText, rowTexts } from './row-text.ts'
import type { RowToKeep, SpooledRow } from './spool.ts'
import type { ManifestChanges } from './types.ts'

const MAX_EXAMPLES = 50
const MAX_ISSUES = 10_000

/** What reading the manifest told, against what the journal and the rows kept so far say. */
export interface Survey {
  plan: Plan
  /** The rows as they were kept. */
  kept: RowCollector
  /** The local files of them. */
  paths: ReadonlySet<string>
  changes: ManifestChanges
  /** Rows that left the manifest before anything came of them, by request and position, where the journal knows them. */
  dropped: [request: number, position: number][]
}

export interface SurveyOptions {
  chunkSize: number
  inOrder: boolean
  /** Send rows again that were refused, or whose NFT failed. */
  retryFailed: boolean
  /** Send rows again that reconciling found absent. */
  retryAbsent?: boolean
}

/** The states of rows that are sent again. */
export const sentAgain = ({ retryFailed, retryAbsent = false }: SurveyOptions): RowState[] => [
  ...(retryFailed ? [ROW.refused, ROW.failed] : []),
  ...(retryAbsent ? [ROW.absent] : []),
]

/** Where rows are put as they are read; see `SpoolWriter`. */
export interface Keeper {
  /** Tells how many bytes the row's line has. */
  add(row: RowToKeep, pending: boolean): number
  /** Called between blocks of rows. */
  flushIfFull(): Promise<void>
}

/** What is read of a manifest; see `ManifestReading` for what it can do beside giving item by item. */
export type Items = AsyncIterable<ManifestItem> & Partial<Pick<ManifestReading, 'blocks' | 'digest' | 'fingerprint'>>

/**
 * Reads all rows, enters them in the ledger, and plans those that are still to be sent.
 *
 * @param items the manifest
 * @param earlier gives the rows as this run kept them last; none for a new run
 * @throws GdnError `invalid_manifest` with the faults in `details`: `{ issues, issueCount }`
 */
export async function survey(
  items: Items,
  earlier: () => AsyncIterable<SpooledRow>,
  ledger: Ledger,
  options: SurveyOptions,
  keeper: Keeper,
): Promise<Survey> {
  const surveyor = new Surveyor(ledger, options, keeper)
  try {
    for await (const { key, content, row } of earlier()) surveyor.addEarlier(key, row.line, content)
    surveyor.beginItems()
  } catch (error) {
    // Damage: what was sent stands in the journal; what changed since can't be told.
    if (!(error instanceof GdnError) || error.code !== 'data_dir') throw error
    surveyor.forgetEarlier()
  }
  for await (const block of items.blocks?.() ?? singly(items)) {
    surveyor.add(block)
    await keeper.flushIfFull()
  }
  surveyor.checkItems()
  if (surveyor.lacksEarlier) for await (const { key, row } of earlier()) surveyor.tellIfRemoved(key, row.line)
  return surveyor.finish()
}

async function* singly(items: AsyncIterable<ManifestItem>): AsyncGenerator<readonly ManifestItem[]> {
  for await (const item of items) yield [item]
}

/** A row with its texts. */
type ReadRow = Omit<RowToKeep, 'copy'>

function read(row: ManifestRow): ReadRow {
  const { content, kept, to } = rowTexts(row)
  return { row, content: hashOfText(content), text: kept, to }
}

/** One pass over the rows of a manifest, beside what the journal and the rows kept earlier say of them. */
class Surveyor {
  readonly #ledger: Ledger
  readonly #options: SurveyOptions
  readonly #keeper: Keeper
  readonly #sentAgain: readonly RowState[]
  readonly #kept = new RowCollector()
  readonly #pending = new Sequence()
  readonly #paths = new Set<string>()
  readonly #changes: ManifestChanges = { added: 0, changed: 0, keptAccepted: 0, removed: 0, examples: [] }
  readonly #issues: ManifestIssue[] = []
  #issueCount = 0
  /** By row of the ledger: whether it was kept earlier, is in the manifest now, and how many copies it has there. */
  readonly #earlier = bytes()
  readonly #seen = bytes()
  readonly #copies = integers()
  #isResumed = false
  #rows = 0
  #earlierRows = 0
  #earlierSeen = 0

  constructor(ledger: Ledger, options: SurveyOptions, keeper: Keeper) {
    this.#ledger = ledger
    this.#options = options
    this.#keeper = keeper
    this.#sentAgain = sentAgain(options)
  }

  addEarlier(key: RowKey, line: number, content: string): void {
    const { row } = this.#ledger.rows.enter(key, line, content)
    this.#earlier.set(row, 1)
    this.#earlierRows++
  }

  beginItems(): void {
    this.#isResumed = this.#ledger.rows.size > 0
  }

  forgetEarlier(): void {
    this.#earlierRows = this.#earlierSeen = 0
  }

  add(block: readonly ManifestItem[]): void {
    const rows: ReadRow[] = []
    for (const item of block) {
      if ('issue' in item) this.#fault(item.issue)
      else if (this.#issueCount === 0) rows.push(read(item.row))
    }
    this.#ledger.rows.readContents(rows.map(({ content }) => content))
    this.#kept.readReceivers(rows.map(({ to }) => to))
    for (const [place, row] of rows.entries()) this.#addRow(row, place)
  }

  /** @param place in its block */
  #addRow({ row, content, text, to }: ReadRow, place: number): void {
    const { index, isNew, copy } = this.#enter(row, content, place)
    this.#rows++
    if (this.#earlier.get(index) === 1) this.#earlierSeen++
    else if (isNew && this.#isResumed) this.#tell('added', rowKey(row.id, content, copy), row.line)
    const ledger = this.#ledger
    ledger.rows.reopen(index, this.#sentAgain)
    if (row.id !== null && !ledger.rows.sameContent(index, content)) {
      this.#tell('changed', rowKey(row.id, content, copy), row.line)
      if (!settleChanged(ledger, index, content)) this.#changes.keptAccepted++
    }
    const pending = ledger.state(index) === ROW.pending
    const length = this.#keeper.add({ row, content, copy, text, to }, pending)
    if (pending) this.#pending.push(this.#kept.row.length)
    if (row.localFiles.length > 0) this.#kept.files.push(this.#kept.row.length)
    for (const { path } of row.localFiles) this.#paths.add(path)
    this.#kept.add(index, length, row.id === null ? 0 : contentNumber(content), place, row.sender)
  }

  /** Enters a row under its key: its id, or its content and which copy of that it is. */
  #enter(row: ManifestRow, content: string, place: number): { index: number; isNew: boolean; copy: number } {
    const { id, line } = row
    const ledger = this.#ledger
    const { row: index, isNew } =
      id === null ? ledger.rows.enterRead(place, line) : ledger.rows.enter(rowKey(id, content), line, content)
    if (this.#seen.get(index) === 0) {
      this.#seen.set(index, 1)
      return { index, isNew, copy: 1 }
    }
    if (id !== null) {
      this.#fault(twice(row))
      return { index, isNew: false, copy: 1 }
    }
    const copy = this.#copies.get(index) + 2
    this.#copies.set(index, copy - 1)
    const entered = ledger.rows.enterContent(content, copy, line)
    this.#seen.set(entered.row, 1)
    return { index: entered.row, isNew: entered.isNew, copy }
  }

  checkItems(): void {
    if (this.#issueCount > 0) throw invalidManifest(this.#issues, this.#issueCount)
    if (this.#rows === 0) throw new GdnError('invalid_manifest', 'the manifest has no rows')
  }

  get lacksEarlier(): boolean {
    return this.#earlierSeen < this.#earlierRows
  }

  tellIfRemoved(key: RowKey, line: number): void {
    if (this.#seen.get(this.#ledger.rows.find(key)) === 0) this.#tell('removed', key, line)
  }

  finish(): Survey {
    const { chunkSize, inOrder } = this.#options
    return {
      plan: planOf(this.#kept, this.#pending, chunkSize, inOrder),
      kept: this.#kept,
      paths: this.#paths,
      changes: this.#changes,
      dropped: dropUnseen(this.#ledger, this.#seen),
    }
  }

  #fault(issue: ManifestIssue): void {
    if (this.#issueCount++ < MAX_ISSUES) this.#issues.push(issue)
  }

  #tell(kind: 'added' | 'changed' | 'removed', key: RowKey, line: number): void {
    const { examples } = this.#changes
    this.#changes[kind]++
    if (examples.length < MAX_EXAMPLES) examples.push({ kind, key: shownKey(key), line })
  }
}

/** Has the ledger forget rows that aren't in the manifest any more, and of which nothing came. */
export function dropUnseen(ledger: Ledger, seen: ByteColumn): Survey['dropped'] {
  const dropped: Survey['dropped'] = []
  for (let row = 0; row < ledger.rows.size; row++) {
    if (seen.get(row) === 1 || !ledger.rows.drop(row)) continue
    const sent = ledger.sentBy(row)
    if (sent !== null) dropped.push([sent.request, sent.position])
  }
  return dropped
}

/** A row that has another content now is sent anew only if nothing came of the old one; tells whether it is. */
function settleChanged(ledger: Ledger, row: number, content: string): boolean {
  ledger.rows.reopen(row, [ROW.refused])
  if (ledger.state(row) !== ROW.pending) return false
  ledger.rows.setContent(row, content)
  return true
}

const twice = (row: ManifestRow): ManifestIssue => ({
  place: { line: row.line, field: 'id' },
  message: `the id ${JSON.stringify(row.id)} stands in an earlier row too`,
  hint: 'give each row an id of its own, or none',
})

function invalidManifest(issues: readonly ManifestIssue[], issueCount: number): GdnError {
  const [first] = issues
  const more = issueCount > 1 ? ` (and ${issueCount - 1} more)` : ''
  return new GdnError('invalid_manifest', `${first?.message ?? 'invalid'}${more}`, {
    ...(first === undefined ? {} : { place: first.place }),
    ...(first?.hint === undefined ? {} : { hint: first.hint }),
    details: { issues, issueCount },
  })
}
