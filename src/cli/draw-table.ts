import { displayWidth } from './display-width.ts'

const GAP = '  '

/** How one cell is painted; `row` is null in the heading. Colours take no room. */
export type PaintCell = (cell: string, row: number | null, column: number) => string

/**
 * Aligned columns without borders. cli-table3 would do it too, but counts a flag, a heart or a family of emoji wrong, and
 * everything behind them would stand askew.
 */
export function drawTable(head: readonly string[], rows: readonly (readonly string[])[], paint: PaintCell): string {
  const widths = head.map((heading, i) =>
    rows.reduce((most, row) => Math.max(most, displayWidth(row[i] ?? '')), displayWidth(heading)),
  )
  const line = (cells: readonly string[], row: number | null) =>
    cells
      .map((cell, i) => {
        const pad = i === cells.length - 1 ? 0 : (widths[i] ?? 0) - displayWidth(cell)
        return paint(cell, row, i) + ' '.repeat(pad)
      })
      .join(GAP)
      .trimEnd()
  return [line(head, null), ...rows.map((row, i) => line(row, i))].join('\n')
}
