/** The parts of a command's output: the fields of its records, the columns of the table, and the ID field. */
export interface View {
  fields: readonly string[]
  columns: readonly string[]
  id: string
  /** The plural noun for the records, as in `All 2 events have the status deployed`. Default: `records`. */
  plural?: string | undefined
  /** Whether to omit the ID column if the terminal is too narrow for all cells. */
  dropsId?: boolean
  /** Columns to omit if they are empty or 0 in all records. */
  sparse?: readonly string[] | undefined
  /** A column that makes room for others: its cells are truncated at the start, or the column is omitted. */
  yields?: string | undefined
  /** Returns the table cells of a record. Needed if some cells aren't fields. */
  cells?: ((record: DataRecord) => DataRecord) | undefined
  /** Names of cells that `--fields` accepts although they are neither fields nor default columns. */
  more?: readonly string[]
  /** Returns the card for a record on a terminal. Needed if the card contains more than the fields. */
  card?(record: DataRecord): RecordCard
  /**
   * Formatters for fields whose value is an object or has a unit. A terminal shows the formatted values, even with
   * --fields.
   */
  forms?: Readonly<Record<string, (value: unknown) => unknown>>
}

/** A field or label, and its value. If the value is a list of pairs, each pair is on a separate line. */
export type CardRow = readonly [name: string, value: unknown]

export type RecordCard = readonly CardRow[]

/** A record that a command prints. Its fields have the API's names. */
export type DataRecord = Readonly<Record<string, unknown>>

/** Returns a record for display. For a burned NFT, removes the owner, which the API returns as the zero address. */
export const withBurned = (record: DataRecord): DataRecord =>
  record.burned === true ? { ...record, status: 'burned', receiver_wallet_address: null } : record

export function plainCell(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Formats cells as a CSV line (RFC 4180). */
export function csvLine(cells: readonly string[], separator = ','): string {
  const quoteCell = (text: string) =>
    /[",\r\n]/.test(text) || text.includes(separator) ? `"${text.replaceAll('"', '""')}"` : text
  return `${cells.map(quoteCell).join(separator)}\r\n`
}
