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

// What makes a spreadsheet run a cell, also behind white space and quotes, and in the wide forms of East Asian keyboards.
const RUN = '[=+\\-@\uff1d\uff0b\uff0d\uff20]'
const RUNS_AT_START = new RegExp(`^(?:[\\t\\r]|[\\s"']*${RUN})`)
// Where a spreadsheet takes semicolons for separators, such a cell begins in the middle.
const RUNS_INSIDE = new RegExp(`([;\\t\\r\\n][\\s"']*)(?=${RUN})`, 'g')

/** A cell that a spreadsheet takes as text, whatever it begins with. */
export function harmlessCell(text: string): string {
  const inside = text.replace(RUNS_INSIDE, "$1'")
  return RUNS_AT_START.test(text) ? `'${inside}` : inside
}
