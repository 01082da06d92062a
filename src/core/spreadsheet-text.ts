// Matches characters that make a spreadsheet run a cell, even after white space and quotes, and in the full-width forms
// of East Asian keyboards.
const RUN = '[=+\\-@\uff1d\uff0b\uff0d\uff20]'
const RUNS_AT_START = new RegExp(`^(?:'*[\\t\\r]|[\\s"']*${RUN})`)
// In spreadsheets with semicolons as separators, such a cell can begin in the middle.
const BEFORE_INSIDE = `[;\\t\\r\\n][\\s"']*`
const RUNS_INSIDE = new RegExp(`(${BEFORE_INSIDE})(?=${RUN})`, 'g')
const ESCAPED_INSIDE = new RegExp(`(${BEFORE_INSIDE})'(?=${RUN})`, 'g')

/**
 * Returns a cell that a spreadsheet reads as text, even if it begins like a formula: with a `'` before the formula.
 * Text that already has this `'` gets a second one, so that `unescapeCell` returns any text as it was.
 */
export function escapeCell(text: string): string {
  const inside = text.replace(RUNS_INSIDE, "$1'")
  return RUNS_AT_START.test(text) ? `'${inside}` : inside
}

/**
 * Returns the text of a cell of `escapeCell`. Other text is returned as it is, unless it has a `'` before a formula.
 */
export function unescapeCell(cell: string): string {
  if (!cell.includes("'")) return cell
  const isEscaped = cell.startsWith("'") && RUNS_AT_START.test(cell.slice(1))
  return (isEscaped ? cell.slice(1) : cell).replace(ESCAPED_INSIDE, '$1')
}
