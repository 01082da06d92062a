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

// Makes a spreadsheet run a cell, also after white space and quotes, and in the full-width forms of East Asian
// keyboards.
const RUN = '[=+\\-@\uff1d\uff0b\uff0d\uff20]'
const RUNS_AT_START = new RegExp(`^(?:[\\t\\r]|[\\s"']*${RUN})`)
// In spreadsheets with semicolons as separators, such a cell can begin in the middle.
const RUNS_INSIDE = new RegExp(`([;\\t\\r\\n][\\s"']*)(?=${RUN})`, 'g')

/** Returns a cell that a spreadsheet reads as text, also if it begins like a formula. */
export function harmlessCell(text: string): string {
  const inside = text.replace(RUNS_INSIDE, "$1'")
  return RUNS_AT_START.test(text) ? `'${inside}` : inside
}
