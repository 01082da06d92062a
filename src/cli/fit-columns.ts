import { cutToWidth, displayWidth } from './display-width.ts'

/** Columns of white space between two cells. */
const GAP = 2

const MIN_WIDTH = 8
const ADDRESS = /^(0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{43,44})$/

const total = (widths: readonly number[]) => widths.reduce((sum, width) => sum + width + GAP, -GAP)

/**
 * Shortens what a terminal has no room for: addresses to their ends, then the widest columns. The column that other
 * commands take (`whole`) stays whole: people copy it.
 */
export function fitColumns(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  available: number,
  whole: number,
): string[][] {
  const widthsOf = (cells: readonly (readonly string[])[]) =>
    headings.map((heading, i) => Math.max(heading.length, ...cells.map((row) => displayWidth(row[i] ?? ''))))
  if (total(widthsOf(rows)) <= available) return rows.map((row) => [...row])
  const shorter = rows.map((row) => row.map((cell, i) => (i !== whole && ADDRESS.test(cell) ? ends(cell) : cell)))
  const widths = widthsOf(shorter)
  for (let excess = total(widths) - available; excess > 0; excess = total(widths) - available) {
    const widest = widths.reduce((best, width, i) => (i !== whole && width > (widths[best] ?? 0) ? i : best), -1)
    const width = widths[widest] ?? 0
    if (width <= MIN_WIDTH) break
    widths[widest] = Math.max(MIN_WIDTH, width - excess)
  }
  return shorter.map((row) => row.map((cell, i) => (i === whole ? cell : cutToWidth(cell, widths[i] ?? cell.length))))
}

const ends = (address: string) => `${address.slice(0, 6)}…${address.slice(-4)}`
