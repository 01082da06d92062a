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
