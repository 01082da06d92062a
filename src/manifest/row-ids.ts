import { text } from '../api/text.ts'
import { validate } from '../api/validate.ts'
import { HashTable } from './hash-table.ts'
import type { RowReport } from './report.ts'
import type { Cell } from './target.ts'

const MAX_ID = 200
const SHORTENED = /^\d[.,]\d+E\+\d+$/

/** The ids of a manifest's rows: each names one, so none may come twice. */
export class RowIds {
  readonly #lines = new HashTable()

  /** @param trusted whether the text is known to be well-formed and without NUL */
  check({ value, column }: Cell, line: number, trusted: boolean, report: RowReport): string {
    const problem =
      value.length > MAX_ID ? `must have at most ${MAX_ID} characters` : trusted ? null : textProblem(value)
    if (problem !== null) report.add(column, `id ${problem}`)
    else if (SHORTENED.test(value)) {
      const message = `id "${value}" is a number that a spreadsheet shortened: its last digits are lost`
      report.add(column, message, 'have the column be text, and fill it in again')
    }
    const first = this.#lines.getOrAdd(value, line)
    if (first !== undefined) {
      report.add(column, `id "${value}" stands in line ${first} already`, 'ids name rows; give each its own')
    }
    return value
  }
}

function textProblem(value: string): string | null {
  const checked = validate(text, value)
  return checked.ok ? null : (checked.issues[0]?.message ?? null)
}
