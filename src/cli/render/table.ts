import { type Io, safe } from '../io/io.ts'
import { paintStatus } from '../io/paint.ts'
import { displayWidth } from '../text/display-width.ts'
import { formatTextAsLocalTime } from '../text/local-time.ts'
import { wrap } from '../text/wrap.ts'
import { heading } from './heading.ts'
import { type DataRecord, plainCell, type RecordCard, type View } from './view.ts'

/** Minimum number of columns for values. With fewer columns, values aren't wrapped. */
const MIN_VALUE_WIDTH = 20

/**
 * Formats a record of a list for output that isn't a terminal: complete, tab-separated cells without a header. Omits an
 * empty `error`.
 */
export function tabbedLine(record: DataRecord, columns: readonly string[]): string {
  const cells = columns.map((column) => safe(plainCell(record[column])))
  if (columns.at(-1) === 'error' && cells.at(-1) === '') cells.pop()
  return `${cells.join('\t')}\n`
}

type TableView = Pick<View, 'columns' | 'id' | 'sparse' | 'plural' | 'yields'> & { dropsId: boolean }

/**
 * Formats a list as an aligned table for a terminal. `withoutIds` indicates whether the terminal was too narrow for
 * IDs.
 */
export async function renderTable(
  io: Io,
  records: readonly DataRecord[],
  { columns, id, dropsId, sparse = [], plural = 'records', yields }: TableView,
): Promise<{ text: string; withoutIds: boolean }> {
  if (records.length === 0) return { text: '', withoutIds: false }
  const mayBeEmpty = new Set(['error', ...sparse])
  const filled = columns.filter((column) => !mayBeEmpty.has(column) || records.some((record) => record[column]))
  const tableRows = (used: readonly string[]) =>
    records.map((record) => used.map((column) => cellText(column, record[column])))
  const { fitByStarts, fitColumns, fitsWhole, fitsWithShortAddresses } = await import('./fit-columns.ts')
  const hasRoom = (candidates: readonly string[]) =>
    (dropsId ? fitsWithShortAddresses : fitsWhole)(
      candidates.map(heading),
      tableRows(candidates),
      io.columns,
      candidates.indexOf(id),
    )
  const status = io.settings.quiet ? null : findSharedStatus(records)
  const withoutColumn = (names: readonly string[], column: string) => names.filter((name) => name !== column)
  // A status that all records share is less useful than the IDs, so omit its column first.
  const withoutIds = dropsId && !hasRoom(status === null ? filled : withoutColumn(filled, 'status'))
  const wantedColumns = withoutIds ? withoutColumn(filled, id) : filled
  let used = status === null || hasRoom(wantedColumns) ? wantedColumns : withoutColumn(wantedColumns, 'status')
  if (used.length < wantedColumns.length) {
    io.note(`All ${records.length} ${plural} have the status ${safe(status ?? '')}.`)
  }
  let rows: readonly (readonly string[])[] = tableRows(used)
  if (yields !== undefined && used.includes(yields)) {
    const shortenedRows = fitByStarts(used.map(heading), rows, io.columns, {
      column: used.indexOf(yields),
      whole: used.indexOf(id),
    })
    if (shortenedRows === null) used = withoutColumn(used, yields)
    rows = shortenedRows ?? tableRows(used)
  }
  const fitted = fitColumns(used.map(heading), rows, io.columns, used.indexOf(id))
  // If lines would wrap, the table would be hard to read, so show each record as a card.
  if (!fitsWhole(used.map(heading), fitted, io.columns)) {
    const cards = records.map((record) => used.map((column) => [column, cellText(column, record[column])] as const))
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

/**
 * Returns the status that all records share; null if they differ or there is only one record. If there isn't enough
 * room, the status column can be omitted.
 */
function findSharedStatus(records: readonly DataRecord[]): string | null {
  const [first, ...otherStatuses] = records.map(({ status }) => status)
  return typeof first === 'string' && otherStatuses.length > 0 && otherStatuses.every((status) => status === first)
    ? first
    : null
}

/**
 * Formats a record with one field per line. A terminal shows only fields that have values. Other output contains all
 * fields.
 */
export function renderOne(io: Io, record: DataRecord, view: View, fields: readonly string[] | undefined): string {
  const presentFields = (fields ?? view.fields).filter((field) => record[field] !== undefined)
  if (!io.stdoutTty) return presentFields.map((field) => `${field}\t${safe(plainCell(record[field]))}\n`).join('')
  if (fields === undefined && view.card !== undefined) return renderCard(io, view.card(record))
  return renderCard(
    io,
    presentFields.map((field) => [field, view.forms?.[field]?.(record[field]) ?? record[field]]),
  )
}

function renderCard(io: Io, card: RecordCard): string {
  const rows = card.filter(([, value]) => !isEmpty(value))
  const headings = distinctHeadings(rows.map(([name]) => name))
  const width = Math.max(0, ...headings.map(({ length }) => length))
  const valueWidth = io.columns - width - 2
  return rows
    .map(([name, value], i) => {
      const lines = valueLines(withLocalTime(name, value), valueWidth).map((line) =>
        name === 'status' ? paintStatus(line, line, io.outPaint) : line,
      )
      return `${io.outPaint.dim((headings[i] ?? name).padEnd(width))}  ${lines.join(`\n${' '.repeat(width + 2)}`)}\n`
    })
    .join('')
}

const isEmpty = (value: unknown) =>
  value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)

/** Formats a value on as many lines as needed: each pair on a separate line, and text wrapped between words. */
function valueLines(value: unknown, valueWidth: number): string[] {
  if (isPairs(value)) {
    const width = Math.max(...value.map(([key]) => displayWidth(safe(key))))
    return value.flatMap(([key, item]) => {
      const name = safe(key)
      const lines = valueLines(item, valueWidth - width - 2)
      return lines.map((line, i) =>
        i === 0 ? `${name}${' '.repeat(width - displayWidth(name))}  ${line}` : `${' '.repeat(width + 2)}${line}`,
      )
    })
  }
  const lines = humanCell(value).split(/\r?\n/).map(safe)
  const foldLine = (line: string) => (displayWidth(line) <= valueWidth ? [line] : wrap(line, valueWidth))
  return valueWidth < MIN_VALUE_WIDTH ? lines : lines.flatMap(foldLine)
}

function isPairs(value: unknown): value is [string, unknown][] {
  return (
    Array.isArray(value) &&
    value.every((pair) => Array.isArray(pair) && pair.length === 2 && typeof pair[0] === 'string')
  )
}

/** Formats a value for a table cell. Times are local and precise to the minute. */
const cellText = (column: string, value: unknown): string =>
  safe(isTime(column) && typeof value === 'string' ? formatTextAsLocalTime(value, 'minute') : humanCell(value))

/** Formats a value for people: booleans as yes or no, and lists with commas between the words. */
function humanCell(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return isWords(value) ? value.join(', ') : plainCell(value)
}

const isWords = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

/** Returns whether a field contains a time, according to its name. */
const isTime = (field: string) => /(?:^|_)(?:at|date|since)$/.test(field)

const withLocalTime = (field: string, value: unknown) =>
  isTime(field) && typeof value === 'string' ? formatTextAsLocalTime(value) : value

/** Returns the headings of fields. If two headings would be equal, the second one is the full field name. */
function distinctHeadings(fields: readonly string[]): string[] {
  const short = fields.map(heading)
  return short.map((text, i) =>
    short.indexOf(text) < i ? (fields[i] ?? text).replaceAll('_', ' ').toUpperCase() : text,
  )
}
