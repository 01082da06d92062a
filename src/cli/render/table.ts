import { type Io, safe } from '../io/io.ts'
import { paintStatus } from '../io/paint.ts'
import { displayWidth } from '../text/display-width.ts'
import { wrap } from '../text/wrap.ts'
import { type DataRecord, plainCell } from './cells.ts'
import type { Card, View } from './view.ts'

/** Narrower than this, words of a value are left to the terminal to break. */
const MIN_VALUE_WIDTH = 20

/** A list off a terminal: tabs between, nothing shortened, no heading. An error is there where there is one. */
export function tabbedLine(record: DataRecord, columns: readonly string[]): string {
  const cells = columns.map((column) => safe(plainCell(record[column])))
  if (columns.at(-1) === 'error' && cells.at(-1) === '') cells.pop()
  return `${cells.join('\t')}\n`
}

interface TableView {
  columns: readonly string[]
  id: string
  /** Whether a terminal too narrow for whole cells leaves the ID column out. */
  dropsId: boolean
}

/** A list on a terminal: aligned columns, and whether there was no room for the IDs. */
export async function renderTable(
  io: Io,
  records: readonly DataRecord[],
  { columns, id, dropsId }: TableView,
): Promise<{ text: string; withoutIds: boolean }> {
  if (records.length === 0) return { text: '', withoutIds: false }
  const filled = columns.filter((column) => column !== 'error' || records.some((record) => record[column]))
  const rowsOf = (used: readonly string[]) =>
    records.map((record) => used.map((column) => shown(column, record[column])))
  const { fitColumns, fits, fitsWithShortAddresses } = await import('./fit-columns.ts')
  const withoutIds =
    dropsId && !fitsWithShortAddresses(filled.map(heading), rowsOf(filled), io.columns, filled.indexOf(id))
  const wanted = withoutIds ? filled.filter((column) => column !== id) : filled
  const hasRoom = dropsId ? fitsWithShortAddresses : fits
  const status = oneStatus(records)
  const isNarrow =
    status !== null &&
    !io.settings.quiet &&
    !hasRoom(wanted.map(heading), rowsOf(wanted), io.columns, wanted.indexOf(id))
  const used = isNarrow ? wanted.filter((column) => column !== 'status') : wanted
  if (isNarrow && used.length < wanted.length) io.note(`All ${records.length} are ${safe(status)}.`)
  const rows = rowsOf(used)
  const fitted = fitColumns(used.map(heading), rows, io.columns, used.indexOf(id))
  // Lines that the terminal would break are no table any more: then each record is a card.
  if (!fits(used.map(heading), fitted, io.columns)) {
    const cards = records.map((record) => used.map((column) => [column, shown(column, record[column])] as const))
    return { text: cards.map((card) => renderCard(io, card)).join('\n'), withoutIds }
  }
  const isStatus = used.map((column) => column === 'status' || column === 'state')
  const { drawTable } = await import('./draw-table.ts')
  const drawn = drawTable(used.map(heading), fitted, (cell, row, i) => {
    if (row === null) return io.outPaint.dim(cell)
    return isStatus[i] ? paintStatus(cell, cell, io.outPaint) : cell
  })
  return { text: `${drawn}\n`, withoutIds }
}

/** The status that all records of a list share: a column of it says less than what would have to be shortened. */
function oneStatus(records: readonly DataRecord[]): string | null {
  const [first, ...others] = records.map(({ status }) => status)
  return typeof first === 'string' && others.length > 0 && others.every((status) => status === first) ? first : null
}

/** One thing: a field to a line. A person is shown what it has, a program every field. */
export function renderOne(io: Io, record: DataRecord, view: View, fields: readonly string[] | undefined): string {
  const named = (fields ?? view.fields).filter((field) => record[field] !== undefined)
  if (!io.stdoutTty) return named.map((field) => `${field}\t${safe(plainCell(record[field]))}\n`).join('')
  const card = fields === undefined && view.card !== undefined ? view.card(record) : named.map(asRow(record))
  return renderCard(io, card)
}

const asRow = (record: DataRecord) => (field: string) => [field, record[field]] as const

function renderCard(io: Io, card: Card): string {
  const rows = card.filter(([, value]) => !isEmpty(value))
  const headings = distinctHeadings(rows.map(([name]) => name))
  const width = Math.max(0, ...headings.map(({ length }) => length))
  const room = io.columns - width - 2
  return rows
    .map(([name, value], i) => {
      const lines = linesOf(timesPlain(name, value), room).map((line) =>
        name === 'status' ? paintStatus(line, line, io.outPaint) : line,
      )
      return `${io.outPaint.dim((headings[i] ?? name).padEnd(width))}  ${lines.join(`\n${' '.repeat(width + 2)}`)}\n`
    })
    .join('')
}

const isEmpty = (value: unknown) =>
  value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)

/** A value on as many lines as it takes: pairs under each other, prose broken between words. */
function linesOf(value: unknown, room: number): string[] {
  if (isPairs(value)) {
    const width = Math.max(...value.map(([key]) => displayWidth(safe(key))))
    return value.flatMap(([key, of]) => {
      const name = safe(key)
      const lines = linesOf(of, room - width - 2)
      return lines.map((line, i) =>
        i === 0 ? `${name}${' '.repeat(width - displayWidth(name))}  ${line}` : `${' '.repeat(width + 2)}${line}`,
      )
    })
  }
  const lines = humanCell(value).split(/\r?\n/).map(safe)
  const folded = (line: string) => (displayWidth(line) <= room ? [line] : wrap(line, room))
  return room < MIN_VALUE_WIDTH ? lines : lines.flatMap(folded)
}

function isPairs(value: unknown): value is [string, unknown][] {
  return (
    Array.isArray(value) && value.every((one) => Array.isArray(one) && one.length === 2 && typeof one[0] === 'string')
  )
}

/** A value as a person reads it in a table: times to the minute. */
function shown(column: string, value: unknown): string {
  const text = safe(humanCell(value))
  return column.endsWith('_at') ? text.slice(0, 16).replace('T', ' ') : text
}

/** As a person says it: yes and no, and words with commas between. */
function humanCell(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return isWords(value) ? value.join(', ') : plainCell(value)
}

const isWords = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string')

const INSTANT = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z$/

/** Times are UTC and without fractions, as the API has them in accepted_date. */
const timesPlain = (field: string, value: unknown) =>
  field.endsWith('_at') && typeof value === 'string' ? value.replace(INSTANT, '$1 $2') : value

/** `receiver_wallet_address` as a person reads it. */
function heading(field: string): string {
  return SHORT_HEADINGS[field] ?? field.replaceAll('_', ' ').toUpperCase()
}

/** Two ids of one record: the second is called by its whole name. */
function distinctHeadings(fields: readonly string[]): string[] {
  const short = fields.map(heading)
  return short.map((text, i) =>
    short.indexOf(text) < i ? (fields[i] ?? text).replaceAll('_', ' ').toUpperCase() : text,
  )
}

const SHORT_HEADINGS: Readonly<Record<string, string>> = {
  nft_gdn_id: 'ID',
  isgdnnft: 'IS GDN NFT',
  token_id: 'TOKEN',
  contract_address: 'CONTRACT',
  receiver_wallet_address: 'OWNER',
  transaction_gdn_id: 'ID',
  sender_wallet_address: 'SENDER',
  transaction_hash: 'HASH',
  gas_used: 'GAS',
  wallet_address: 'OWNER',
  metadata_url: 'METADATA',
  request_metadata: 'METADATA GIVEN',
  accepted_date: 'ACCEPTED',
}
