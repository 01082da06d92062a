import { type ErrorCode, GdnError } from '../core/errors.ts'

/** Number of rows in the message of an error. */
const MAX_ROWS_IN_MESSAGE = 10
const MAX_ROWS_IN_DETAILS = 100

type MovedRow = { line: number } & ({ slot: number } | { row: string })

interface MovedRows {
  file: string | null
  rows: readonly MovedRow[]
  hint: string
}

/** Returns the error for rows that don't match the rows or slots as which they were minted. */
export function movedRowsError(code: ErrorCode, problem: string, { file, rows, hint }: MovedRows): GdnError {
  const listed = rows.slice(0, MAX_ROWS_IN_MESSAGE).map((moved) => {
    return `line ${moved.line} was minted as ${'slot' in moved ? `slot ${moved.slot}` : `row ${moved.row}`}`
  })
  const more = rows.length > MAX_ROWS_IN_MESSAGE ? ', …' : ''
  return new GdnError(code, `${problem}: ${listed.join(', ')}${more}`, {
    place: { file: file ?? undefined, line: rows[0]?.line },
    hint,
    details: { rows: rows.slice(0, MAX_ROWS_IN_DETAILS), count: rows.length },
  })
}
