import Table from 'cli-table3'
import { displayWidth } from '../text/display-width.ts'

const NO_BORDERS = Object.fromEntries(
  ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right', 'left', 'left-mid']
    .concat(['mid', 'mid-mid', 'right', 'right-mid', 'middle'])
    .map((part) => [part, '']),
)

/** Colors one cell without changing its width. `row` is null for the header. */
export type PaintCell = (cell: string, row: number | null, column: number) => string

/**
 * Formats a table with aligned columns and without borders. Pads the cells itself, and formats each line as a separate
 * table. If the library aligned the lines, it would use its own text widths, which are wrong for newer emoji and for
 * scripts such as Devanagari.
 */
export function drawTable(head: readonly string[], rows: readonly (readonly string[])[], paint: PaintCell): string {
  const widths = head.map((heading, i) =>
    rows.reduce((max, row) => Math.max(max, displayWidth(row[i] ?? '')), displayWidth(heading)),
  )
  const line = (cells: readonly string[], row: number | null) => {
    // The library colors headers and borders unless its style is empty.
    const style = { head: [], border: [], 'padding-left': 0, 'padding-right': 2 }
    const table = new Table({ chars: NO_BORDERS, style })
    table.push(cells.map((cell, i) => paint(cell, row, i) + ' '.repeat((widths[i] ?? 0) - displayWidth(cell))))
    return table.toString().trimEnd()
  }
  return [line(head, null), ...rows.map(line)].join('\n')
}
