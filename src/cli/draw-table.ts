import Table from 'cli-table3'
import { displayWidth } from './display-width.ts'

const NO_BORDERS = Object.fromEntries(
  ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right', 'left', 'left-mid']
    .concat(['mid', 'mid-mid', 'right', 'right-mid', 'middle'])
    .map((part) => [part, '']),
)

/** How one cell is painted; `row` is null in the heading. Colours take no room. */
export type PaintCell = (cell: string, row: number | null, column: number) => string

/**
 * Aligned columns without borders. The library counts a flag, a heart or a family of emoji wrong, and everything behind
 * them would stand askew: it lays out stand-ins as wide as the cells are, which then make room for them.
 */
export function drawTable(head: readonly string[], rows: readonly (readonly string[])[], paint: PaintCell): string {
  const standIn = (cell: string) => 'x'.repeat(displayWidth(cell))
  // It colours heads and borders by itself unless its style is empty.
  const table = new Table({
    head: head.map(standIn),
    chars: NO_BORDERS,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2, compact: true },
  })
  table.push(...rows.map((cells) => cells.map(standIn)))
  const painted = [head, ...rows].flatMap((cells, row) =>
    cells.flatMap((cell, column) =>
      displayWidth(cell) === 0 ? [] : [paint(cell, row === 0 ? null : row - 1, column)],
    ),
  )
  const cells = painted.values()
  return table
    .toString()
    .split('\n')
    .map((line) => line.replace(/x+/g, () => cells.next().value ?? '').trimEnd())
    .join('\n')
}
