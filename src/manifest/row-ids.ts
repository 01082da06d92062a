import { text } from '../api/text.ts'
import { validate } from '../api/validate.ts'
import { MAX_ID, SHORTENED } from './columns.ts'
import { HashTable } from './hash-table.ts'
import type { RowReport } from './report.ts'
import type { Cell } from './target.ts'

/** The IDs of a manifest's rows. Each ID identifies one row, so none may be repeated. */
export class RowIds {
  readonly #lines = new HashTable()

  /** @param trusted whether the text is known to be well-formed and without NUL characters */
  check({ value, column }: Cell, line: number, trusted: boolean, report: RowReport): string {
    const problem =
      value.length > MAX_ID ? `must have at most ${MAX_ID} characters` : trusted ? null : textProblem(value)
    if (problem !== null) report.add(column, `id ${problem}`)
    else if (SHORTENED.test(value)) {
      const message = `id "${value}" is a number that a spreadsheet shortened, so its last digits are lost`
      report.add(column, message, 'Format the column as text, and enter the IDs again.')
    }
    const first = this.#lines.getOrAdd(value, line)
    if (first !== undefined) {
      report.add(column, `id "${value}" is already used on line ${first}`, 'Give each row its own ID.')
    }
    return value
  }
}

function textProblem(value: string): string | null {
  const checked = validate(text, value)
  return checked.ok ? null : (checked.issues[0]?.message ?? null)
}
