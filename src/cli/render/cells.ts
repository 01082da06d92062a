/** A record that a command prints. Field names are the same as in the API. */
export type DataRecord = Readonly<Record<string, unknown>>

/** Returns a record as people read it. A burned NFT has no owner, but the API returns the zero address. */
export const withBurned = (record: DataRecord): DataRecord =>
  record.burned === true ? { ...record, status: 'burned', receiver_wallet_address: null } : record

/** Formats a value as the text of one cell. */
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
