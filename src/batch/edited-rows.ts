import { GdnError } from '../core/errors.ts'
import { sentMetadata } from '../operations/reconcile/content.ts'
import { addressKey, ownersOf } from '../operations/reconcile/owners.ts'
import { type ByteColumn, bytes } from './columns.ts'
import type { Found } from './find-run.ts'
import type { Gathered } from './gather.ts'
import { RecordFile } from './journal/read.ts'
import type { FoundRecord } from './journal/records.ts'
import type { Ledger } from './ledger.ts'
import { isContentKey, shownKey } from './row-key.ts'
import { ROW } from './row-table.ts'
import { journalPath, spoolPath } from './run-files.ts'
import { readSpool, type SpooledRow } from './spool.ts'
import type { BatchOptions, EditedPair, FieldChange } from './types.ts'

/** Places of rows in a journal: request and position. */
type Places = [request: number, position: number][]

/** What an edit of the manifest means for rows that were sent. */
export interface Edits {
  /** Rows that were sent without an `id` and have one now, as records that give them their NFTs. */
  renamed: FoundRecord[]
  /** Sent rows that the manifest does not have anymore, while other rows are minted in addition (`--new-rows`). */
  replaced: Places
}

/** A row of a journal that was sent and that the manifest does not have anymore. */
interface SentRow {
  n: number
  position: number
  key: string
  line: number
  content: string
}

const SENT: ReadonlySet<number> = new Set([ROW.unknown, ROW.accepted, ROW.deployed])
const MAX_PAIRS = 50
const ROWS_PER_RECORD = 50

/**
 * Compares an edited manifest with what the run has sent. A row without an `id` is known by its content. So an edit
 * makes one row vanish and another appear, and sending that one would mint a second NFT.
 *
 * @throws GdnError `edited_rows`
 */
export async function findEdits(options: BatchOptions, found: Found, gathered: Gathered): Promise<Edits> {
  const { run, ledger, journal } = found
  if (journal === null || gathered.changes.added === 0) return { renamed: [], replaced: [] }
  const isNew = await addedRows(options, found)
  return await compare({ ledger, id: run.id, name: run.name }, options, () => readSpool(gathered.path), isNew)
}

/** Tells the rows that this start adds to a run: no earlier start has planned or sent them. */
export async function addedRows(
  { stateDir }: Pick<BatchOptions, 'stateDir'>,
  { run, ledger }: Pick<Found, 'run' | 'ledger'>,
): Promise<(row: SpooledRow) => boolean> {
  const planned = bytes()
  try {
    for await (const { key } of readSpool(spoolPath(stateDir, run.id))) planned.set(ledger.rows.find(key), 1)
  } catch (error) {
    // Then every row that was not sent yet counts as new.
    if (!(error instanceof GdnError) || error.code !== 'data_dir') throw error
  }
  return ({ key }) => {
    const row = ledger.rows.find(key)
    return ledger.state(row) === ROW.pending && ledger.sentBy(row) === null && planned.get(row) === 0
  }
}

/**
 * The same for a new run of a manifest that another run of the collection has sent, under this or another name.
 *
 * @throws GdnError `edited_rows`
 */
export async function refuseEdited(
  other: { ledger: Ledger; id: string; name: string },
  options: BatchOptions,
  rows: () => AsyncIterable<SpooledRow>,
): Promise<void> {
  await compare(other, options, rows, ({ key }) => other.ledger.rows.find(key) < 0)
}

async function compare(
  { ledger, id, name }: { ledger: Ledger; id: string; name: string },
  options: BatchOptions,
  rows: () => AsyncIterable<SpooledRow>,
  isNew: (row: SpooledRow) => boolean,
): Promise<Edits> {
  const kept = bytes()
  for await (const { key } of rows()) {
    const row = ledger.rows.find(key)
    if (row >= 0) kept.set(row, 1)
  }
  const records = await RecordFile.open(journalPath(options.stateDir, id))
  try {
    const vanished = await vanishedRows(ledger, records, kept)
    if (vanished.length === 0) return { renamed: [], replaced: [] }
    const unnamed = new Map<string, SentRow[]>()
    for (const row of vanished) {
      if (isContentKey(row.key)) unnamed.set(row.content, [...(unnamed.get(row.content) ?? []), row])
    }
    const renamed: [SentRow, SpooledRow][] = []
    let fresh = 0
    for await (const row of rows()) {
      if (!isNew(row)) continue
      const sent = row.row.id === null ? undefined : unnamed.get(row.content)?.shift()
      if (sent === undefined) fresh++
      else renamed.push([sent, row])
    }
    const gone = new Set(vanished)
    for (const [sent] of renamed) gone.delete(sent)
    const replaced = gone.size > 0 && fresh > 0 ? [...gone] : []
    if (replaced.length > 0 && options.newRows !== true) {
      const isFresh = (row: SpooledRow) => isNew(row) && !renamed.some(([, { key }]) => key === row.key)
      throw await editedRows(await pairsOf(ledger, records, replaced.slice(0, MAX_PAIRS), rows, isFresh), {
        ...{ run: name, vanished: replaced.length, fresh },
      })
    }
    return {
      renamed: await renamedRecords(ledger, records, renamed, name),
      replaced: replaced.map(({ n, position }) => [n, position]),
    }
  } finally {
    await records.close()
  }
}

async function vanishedRows(ledger: Ledger, records: RecordFile, kept: ByteColumn): Promise<SentRow[]> {
  const vanished: SentRow[] = []
  for (let n = 1; n <= ledger.lastRequest; n++) {
    const isGone = (row: number) =>
      ledger.isCurrent(row, n) && SENT.has(ledger.state(row)) && kept.get(row) === 0 && !ledger.isReplaced(row)
    const numbers = ledger.rowsOf(n)
    if (!numbers.some(isGone)) continue
    const { rows } = await ledger.readRows(records, n)
    for (const [position, [key, line, content]] of rows.entries()) {
      if (isGone(numbers[position] ?? -1)) vanished.push({ n, position, key, line, content })
    }
  }
  return vanished
}

/** Gives rows that got an `id` the NFTs that they were minted as. */
async function renamedRecords(
  ledger: Ledger,
  records: RecordFile,
  renamed: readonly [SentRow, SpooledRow][],
  run: string,
): Promise<FoundRecord[]> {
  const made: FoundRecord[] = []
  const open = new Map<string, FoundRecord>()
  for (const [{ n, position }, { key, content, row }] of renamed) {
    const answer = ledger.hasAnswer(n) ? await ledger.readAnswer(records, n) : null
    const id = answer?.ids?.[position] ?? null
    if (id === null) {
      throw new GdnError('edited_rows', `rows got an id while the outcome of their requests is unknown`, {
        hint: `Remove the ids, run gdn batch reconcile ${run}, and add them afterwards.`,
      })
    }
    let record = open.get(row.receiver)
    if (record === undefined || record.rows.length === ROWS_PER_RECORD) {
      const number = ledger.lastRequest + made.length + 1
      record = { t: 'found', n: number, receiver: row.receiver, rows: [], ids: [], from: [], at: Date.now() }
      open.set(row.receiver, record)
      made.push(record)
    }
    record.rows.push([key, row.line, content])
    record.ids.push(id)
    record.from?.push([n, position])
  }
  return made
}

type Fields = Readonly<Record<string, string>>

/** Pairs each vanished row with the new row that it has most fields in common with. */
async function pairsOf(
  ledger: Ledger,
  records: RecordFile,
  vanished: readonly SentRow[],
  rows: () => AsyncIterable<SpooledRow>,
  isNew: (row: SpooledRow) => boolean,
): Promise<EditedPair[]> {
  const best = await Promise.all(
    vanished.map(async (sent) => ({
      sent,
      fields: await sentFields(ledger, records, sent),
      score: 0,
      now: null as { line: number; fields: Fields } | null,
    })),
  )
  for await (const row of rows()) {
    if (!isNew(row)) continue
    const fields = fieldsOf(row)
    for (const one of best) {
      const score = similarity(one.fields, fields) + (one.sent.line === row.row.line ? 0.5 : 0)
      if (score > one.score) Object.assign(one, { score, now: { line: row.row.line, fields } })
    }
  }
  return best.map(({ sent, fields, now }) => ({
    line: sent.line,
    title: fields.title ?? shownKey(sent.key),
    now: now === null ? null : { line: now.line, title: now.fields.title ?? '' },
    changes: now === null ? [] : changesOf(fields, now.fields),
  }))
}

/** A request of a journal says what it sent, with the URLs that local files got. */
async function sentFields(ledger: Ledger, records: RecordFile, { n, position, key }: SentRow): Promise<Fields> {
  const id = isContentKey(key) ? {} : { id: shownKey(key) }
  const body = await ledger.readBody(records, n)
  if (body === null) return id
  const { receiver_wallet_address: receiver } = JSON.parse(body) as { receiver_wallet_address: string }
  return { ...id, receiver: addressKey(receiver), ...metadataFields(sentMetadata(body)[position]) }
}

function fieldsOf({ row }: SpooledRow): Fields {
  const local = new Set(row.localFiles.map(({ key }) => key))
  const fields = metadataFields(row.metadata)
  // The URL of a local file is known after its upload only: the files of both cannot be compared.
  const comparable = Object.entries(fields).filter(([name]) => !local.has(name))
  const id = row.id === null ? {} : { id: row.id }
  return {
    ...id,
    receiver: ownersOf({ receiver: row.receiver, sender: null })[0] ?? '',
    ...Object.fromEntries(comparable),
  }
}

function metadataFields(metadata: unknown): Fields {
  const {
    file_fields = [],
    attribute = [],
    ...texts
  } = metadata as {
    file_fields?: { key: string; url: string }[]
    attribute?: { tag: string; value: string }[]
    [name: string]: unknown
  }
  return {
    ...Object.fromEntries(Object.entries(texts).map(([name, value]) => [name, String(value)])),
    ...Object.fromEntries(file_fields.map(({ key, url }) => [key, url])),
    ...Object.fromEntries(attribute.map(({ tag, value }) => [`attr:${tag}`, value])),
  }
}

/** How many fields two rows share; titles and descriptions count by the words that they share. */
function similarity(a: Fields, b: Fields): number {
  let score = 0
  for (const [name, value] of Object.entries(a)) {
    const other = b[name]
    if (other === value) score++
    else if (other !== undefined && (name === 'title' || name === 'description')) score += sharedWords(value, other)
  }
  return score
}

function sharedWords(a: string, b: string): number {
  const words = new Set(a.toLowerCase().split(/\W+/u))
  const others = new Set(b.toLowerCase().split(/\W+/u))
  const shared = [...words].filter((word) => others.has(word)).length
  return shared / Math.max(words.size, others.size)
}

function changesOf(from: Fields, to: Fields): FieldChange[] {
  const names = new Set([...Object.keys(from), ...Object.keys(to)])
  return (
    [...names]
      .filter((field) => from[field] !== to[field])
      // A file that is uploaded stands in one of the two only.
      .filter((field) => !(to[field] === undefined && from[field]?.startsWith('ipfs://') === true))
      .map((field) => ({ field, from: from[field] ?? null, to: to[field] ?? null }))
  )
}

function editedRows(
  pairs: EditedPair[],
  { run, vanished, fresh }: { run: string; vanished: number; fresh: number },
): GdnError {
  const sent = vanished === 1 ? '1 row that the run has sent is' : `${vanished} rows that the run has sent are`
  const added = fresh === 1 ? '1 row is new' : `${fresh} rows are new`
  return new GdnError('edited_rows', `${sent} not in the manifest anymore, and ${added}: ${run}`, {
    hint: [
      'Nothing was sent. An edited row without an id would be minted a second time.',
      'If you edited rows, revert the edit: a minted NFT cannot be changed.',
      'To be able to edit the other rows later, revert, and add an id column.',
      'To mint the new rows in addition, add --new-rows.',
    ].join('\n'),
    details: { run, vanished, new: fresh, pairs },
  })
}
