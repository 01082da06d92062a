// Characters that begin a formula in a spreadsheet, even after white space and quotes. Includes the full-width
// characters of East Asian keyboards.
const RUN = '[=+\\-@\uff1d\uff0b\uff0d\uff20]'
const RUNS_AT_START = new RegExp(`^(?:'*[\\t\\r]|[\\s"']*${RUN})`)
// If the spreadsheet separates cells with semicolons, a formula can begin in the middle of the text.
const BEFORE_INSIDE = `[;\\t\\r\\n][\\s"']*`
const RUNS_INSIDE = new RegExp(`(${BEFORE_INSIDE})(?=${RUN})`, 'g')
const ESCAPED_INSIDE = new RegExp(`(${BEFORE_INSIDE})'(?=${RUN})`, 'g')

/**
 * Escapes a cell so that a spreadsheet reads it as text. Adds a `'` before anything that looks like a formula. If the
 * text already has this `'`, adds a second one, so that `unescapeCell` restores every text.
 */
export function escapeCell(text: string): string {
  const inside = text.replace(RUNS_INSIDE, "$1'")
  return RUNS_AT_START.test(text) ? `'${inside}` : inside
}

/** Reverses `escapeCell`. Text that wasn't escaped is unchanged, except that a `'` before a formula is removed. */
export function unescapeCell(cell: string): string {
  if (!cell.includes("'")) return cell
  const isEscaped = cell.startsWith("'") && RUNS_AT_START.test(cell.slice(1))
  return (isEscaped ? cell.slice(1) : cell).replace(ESCAPED_INSIDE, '$1')
}

/** Returns the manifest cell for a text. Escapes the text only if reading the manifest would otherwise change it. */
export const manifestCell = (text: string): string => (unescapeCell(text) === text ? text : escapeCell(text))
