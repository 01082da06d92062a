import Table from 'cli-table3'
import { displayWidth } from '../text/display-width.ts'

const NO_BORDERS = Object.fromEntries(
  ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right', 'left', 'left-mid']
    .concat(['mid', 'mid-mid', 'right', 'right-mid', 'middle'])
    .map((part) => [part, '']),
)

/** Colors one cell. `row` is null in the heading. Colors take no width. */
export type PaintCell = (cell: string, row: number | null, column: number) => string

/**
 * Returns a table with aligned columns and without borders. The cells of a column are padded to the same width here,
 * and each line is laid out as a table of its own: across lines the library would align by its own count of columns,
 * which is wrong for newer emoji and for scripts such as Devanagari.
 */
export function drawTable(head: readonly string[], rows: readonly (readonly string[])[], paint: PaintCell): string {
  const widths = head.map((heading, i) =>
    rows.reduce((max, row) => Math.max(max, displayWidth(row[i] ?? '')), displayWidth(heading)),
  )
  const line = (cells: readonly string[], row: number | null) => {
    // It colors heads and borders by itself unless its style is empty.
    const style = { head: [], border: [], 'padding-left': 0, 'padding-right': 2 }
    const table = new Table({ chars: NO_BORDERS, style })
    table.push(cells.map((cell, i) => paint(cell, row, i) + ' '.repeat((widths[i] ?? 0) - displayWidth(cell))))
    return table.toString().trimEnd()
  }
  return [line(head, null), ...rows.map(line)].join('\n')
}
