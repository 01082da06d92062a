/** How a command's records are printed: their fields, the columns of a table, and the field that is the ID. */
export interface View {
  fields: readonly string[]
  columns: readonly string[]
  id: string
  /** The plural noun for the records (default: `records`), as in `All 2 events have the status deployed`. */
  plural?: string | undefined
  /** Whether to leave out the ID column if the terminal is too narrow for all cells. */
  dropsId?: boolean
  /** Columns to leave out if they are empty or 0 in all records. */
  sparse?: readonly string[] | undefined
  /** A column that makes room for the others: its cells are truncated at the start, or it is omitted. */
  yields?: string | undefined
  /** Returns the table cells of a record if some of them aren't fields. */
  cells?: ((record: DataRecord) => DataRecord) | undefined
  /** Names of cells that `--fields` accepts although they are neither fields nor default columns. */
  more?: readonly string[]
  /** Returns the card that a terminal shows for one record, if it shows more than the fields. */
  card?(record: DataRecord): RecordCard
  /**
   * Formatters for fields whose value is an object or has a unit. A terminal shows their results, even with --fields.
   */
  forms?: Readonly<Record<string, (value: unknown) => unknown>>
}

/** A field or label, and its value. A list of pairs is shown with one pair per line. */
export type CardRow = readonly [name: string, value: unknown]

export type RecordCard = readonly CardRow[]

/** A record that a command prints. Its fields have the API's names. */
export type DataRecord = Readonly<Record<string, unknown>>

/** Returns a record for display. The API returns the zero address as the owner of a burned NFT, which has none. */
export const withBurned = (record: DataRecord): DataRecord =>
  record.burned === true ? { ...record, status: 'burned', receiver_wallet_address: null } : record

export function plainCell(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Formats cells as a line of CSV (RFC 4180). */
export function csvLine(cells: readonly string[], separator = ','): string {
  const quoted = (text: string) =>
    /[",\r\n]/.test(text) || text.includes(separator) ? `"${text.replaceAll('"', '""')}"` : text
  return `${cells.map(quoted).join(separator)}\r\n`
}
