/** A record that a command prints. Field names are those of the API. */
export type DataRecord = Readonly<Record<string, unknown>>

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
