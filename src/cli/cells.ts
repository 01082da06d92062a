/** What a command prints one of. Field names are the API's. */
export type DataRecord = Readonly<Record<string, unknown>>

/** A value as one cell of text. */
export function plainCell(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Cells as a line of CSV (RFC 4180). */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map((text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)).join(',')}\r\n`
}

/** A cell that a spreadsheet takes as text, whatever it begins with. */
export function harmlessCell(text: string): string {
  return /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
}
