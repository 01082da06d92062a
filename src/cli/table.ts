import { type DataRecord, plainCell } from './cells.ts'
import { type Io, safe } from './io.ts'
import { paintStatus } from './paint.ts'

/** A list off a terminal: tabs between, nothing shortened, no heading. */
export function tabbedLine(record: DataRecord, columns: readonly string[]): string {
  return `${columns.map((column) => safe(plainCell(record[column]))).join('\t')}\n`
}

/** A list on a terminal: aligned columns. */
export async function renderTable(
  io: Io,
  records: readonly DataRecord[],
  columns: readonly string[],
  id: string,
): Promise<string> {
  if (records.length === 0) return ''
  const used = columns.filter((column) => column !== 'error' || records.some((record) => record[column]))
  const rows = records.map((record) => used.map((column) => shown(column, record[column])))
  const { fitColumns } = await import('./fit-columns.ts')
  const fitted = fitColumns(used.map(heading), rows, io.columns, used.indexOf(id))
  const cells = fitted.map((row) =>
    row.map((cell, i) => (used[i] === 'status' ? paintStatus(cell, cell, io.outPaint) : cell)),
  )
  const { drawTable } = await import('./draw-table.ts')
  return `${drawTable(
    used.map((column) => io.outPaint.dim(heading(column))),
    cells,
  )}\n`
}

/** One thing: a field to a line. */
export function renderOne(io: Io, record: DataRecord, fields: readonly string[]): string {
  const known = fields.filter((field) => record[field] !== undefined)
  const shown = io.stdoutTty ? known.filter((field) => record[field] !== null) : known
  const width = Math.max(0, ...shown.map((field) => heading(field).length))
  const line = (field: string) => {
    const value = safe(plainCell(record[field]))
    if (!io.stdoutTty) return `${field}\t${value}\n`
    const text = field === 'status' ? paintStatus(value, value, io.outPaint) : value
    return `${io.outPaint.dim(heading(field).padEnd(width))}  ${text}\n`
  }
  return shown.map(line).join('')
}

/** A value as a person reads it in a table: times to the minute. */
function shown(column: string, value: unknown): string {
  const text = safe(plainCell(value))
  return column.endsWith('_at') ? text.slice(0, 16).replace('T', ' ') : text
}

/** `receiver_wallet_address` as a person reads it. */
function heading(field: string): string {
  return SHORT_HEADINGS[field] ?? field.replaceAll('_', ' ').toUpperCase()
}

const SHORT_HEADINGS: Readonly<Record<string, string>> = {
  nft_gdn_id: 'ID',
  token_id: 'TOKEN',
  contract_address: 'CONTRACT',
  receiver_wallet_address: 'OWNER',
  transaction_gdn_id: 'ID',
  wallet_address: 'OWNER',
  metadata_url: 'METADATA',
  request_metadata: 'METADATA GIVEN',
}
